"""The container's CPU limit, and the time spent at it."""

import pytest

from tb_health_plugin.collectors.cgroup_cpu import CgroupCpu, parse_cores
from tb_health_plugin.collectors.collector import SourceUnavailable


def v2(folder: str, limit: str, periods: int, usec: int) -> dict[str, str]:
    return {
        f"sys/fs/cgroup{folder}/cpu.max": f"{limit}\n",
        f"sys/fs/cgroup{folder}/cpu.stat": (
            "usage_usec 9000\nuser_usec 8000\nsystem_usec 1000\nnr_periods 50\n"
            f"nr_throttled {periods}\nthrottled_usec {usec}\n"
        ),
    }


def v1(folder: str, quota: str, periods: int, nanoseconds: int) -> dict[str, str]:
    base = f"sys/fs/cgroup/cpu,cpuacct{folder}"
    return {
        f"{base}/cpu.cfs_quota_us": f"{quota}\n",
        f"{base}/cpu.cfs_period_us": "100000\n",
        f"{base}/cpu.stat": (
            f"nr_periods 50\nnr_throttled {periods}\nthrottled_time {nanoseconds}\n"
            "nr_bursts 0\nburst_time 0\n"
        ),
    }


@pytest.mark.parametrize(
    "files",
    [
        {
            "proc/42/cgroup": "0::/job\n",
            **v2("/job", "150000 100000", 4, 2_500_000),
        },
        {
            "proc/42/cgroup": "1:cpu,cpuacct:/job\n",
            **v1("/job", "150000", 4, 2_500_000_000),
        },
    ],
    ids=["v2", "v1"],
)
def test_both_versions_read_alike(machine, files: dict[str, str]):
    assert CgroupCpu(machine(files)).collect() == {
        "cgroup_cpu_limit_cores": 1.5,
        "cgroup_cpu_throttled_seconds": 2.5,
        "cgroup_cpu_throttled_periods": 4.0,
    }


def test_an_ancestor_may_be_tighter_and_throttled_too(machine):
    watched = machine(
        {
            "proc/42/cgroup": "0::/pod/job\n",
            **v2("/pod/job", "400000 100000", 1, 1_000_000),
            **v2("/pod", "200000 100000", 2, 3_000_000),
        }
    )

    assert CgroupCpu(watched).collect() == {
        "cgroup_cpu_limit_cores": 2.0,
        "cgroup_cpu_throttled_seconds": 4.0,
        "cgroup_cpu_throttled_periods": 3.0,
    }


def test_no_limit_is_not_a_number(machine):
    watched = machine(
        {"proc/42/cgroup": "1:cpu,cpuacct:/\n", **v1("", "-1", 0, 0)},
    )

    assert CgroupCpu(watched).collect() == {
        "cgroup_cpu_throttled_seconds": 0.0,
        "cgroup_cpu_throttled_periods": 0.0,
    }


@pytest.mark.parametrize(
    ("text", "cores"),
    [
        ("50000 100000\n", 0.5),
        ("max 100000\n", None),
        ("-1\n 100000\n", None),
        ("100000 0\n", None),
        ("100000\n", None),
        ("", None),
    ],
)
def test_quota_by_period(text: str, cores: float | None):
    assert parse_cores(text) == cores


def test_a_group_without_counters_leaves_them_out(machine):
    watched = machine(
        {
            "proc/42/cgroup": "0::/job\n",
            "sys/fs/cgroup/job/cpu.max": "100000 100000\n",
            "sys/fs/cgroup/job/cpu.stat": "usage_usec 7\nnr_throttled\n",
        }
    )

    assert CgroupCpu(watched).collect() == {"cgroup_cpu_limit_cores": 1.0}


def test_the_topmost_group_of_version_2_has_no_limit_to_read(machine):
    """It does have a cpu.stat, with usage alone."""
    watched = machine(
        {"proc/42/cgroup": "0::/\n", "sys/fs/cgroup/cpu.stat": "usage_usec 7\n"}
    )

    with pytest.raises(SourceUnavailable, match="no cpu control group"):
        CgroupCpu(watched)
