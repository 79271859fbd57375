"""The container's memory, against trees copied from real machines."""

import pytest

from tb_health_plugin.collectors.cgroup_memory import (
    CgroupMemory,
    parse_limit,
    parse_oom_kills,
)
from tb_health_plugin.collectors.collector import SourceUnavailable

UNLIMITED_V1 = "9223372036854771712"


def v2(folder: str, used: str, limit: str, kills: int) -> dict[str, str]:
    base = f"sys/fs/cgroup{folder}"
    return {
        f"{base}/memory.current": f"{used}\n",
        f"{base}/memory.max": f"{limit}\n",
        f"{base}/memory.events": f"low 0\nhigh 0\nmax 7\noom 2\noom_kill {kills}\n",
        f"{base}/memory.stat": "anon 20\nfile 200\ninactive_file 90\n",
    }


def v1(folder: str, used: str, limit: str, kills: int) -> dict[str, str]:
    base = f"sys/fs/cgroup/memory{folder}"
    return {
        f"{base}/memory.usage_in_bytes": f"{used}\n",
        f"{base}/memory.limit_in_bytes": f"{limit}\n",
        f"{base}/memory.oom_control": f"under_oom 0\noom_kill {kills}\n",
        f"{base}/memory.stat": "inactive_file 8\ntotal_inactive_file 90\n",
    }


@pytest.mark.parametrize(
    "files",
    [
        {"proc/42/cgroup": "0::/job\n", **v2("/job", "300", "1000", 2)},
        {
            "proc/42/cgroup": "5:cpu:/\n4:memory:/job\n",
            **v1("/job", "300", "1000", 2),
        },
    ],
    ids=["v2", "v1"],
)
def test_both_versions_read_alike(machine, files: dict[str, str]):
    assert CgroupMemory(machine(files)).collect() == {
        "cgroup_memory_used_bytes": 300.0,
        "cgroup_memory_limit_bytes": 1000.0,
        "cgroup_memory_inactive_file_bytes": 90.0,
        "cgroup_oom_kills": 2.0,
    }


def test_the_tightest_limit_may_sit_on_an_ancestor(machine):
    watched = machine(
        {
            "proc/42/cgroup": "0::/slice/job\n",
            **v2("/slice/job", "300", "max", 0),
            **v2("/slice", "700", "900", 1),
        },
    )

    reading = CgroupMemory(watched).collect()

    assert reading["cgroup_memory_limit_bytes"] == 900.0
    assert reading["cgroup_memory_used_bytes"] == 700.0


def test_version_1_counts_a_kill_only_where_the_victim_was(machine):
    watched = machine(
        {
            "proc/42/cgroup": "4:memory:/slice/job\n",
            **v1("/slice/job", "300", UNLIMITED_V1, 1),
            **v1("/slice", "900", "900", 0),
        },
    )

    assert CgroupMemory(watched).collect()["cgroup_oom_kills"] == 1.0


def test_a_kill_of_a_stranger_below_the_same_limit_is_not_ours(machine):
    watched = machine(
        {
            "proc/42/cgroup": "0::/slice/job\n",
            **v2("/slice/job", "300", "max", 0),
            **v2("/slice", "900", "900", 3),
        },
    )

    assert CgroupMemory(watched).collect()["cgroup_oom_kills"] == 0.0


def test_a_container_that_sees_itself_as_the_top(machine):
    """The path of /proc/<pid>/cgroup is the host's; the mount is our own."""
    watched = machine(
        {"proc/42/cgroup": "0::/docker/abc\n", **v2("", "300", "1000", 0)},
    )

    assert CgroupMemory(watched).collect()["cgroup_memory_limit_bytes"] == 1000.0


def test_no_limit_is_not_a_number(machine):
    watched = machine(
        {"proc/42/cgroup": "4:memory:/\n", **v1("/", "300", UNLIMITED_V1, 0)},
    )

    assert "cgroup_memory_limit_bytes" not in CgroupMemory(watched).collect()


@pytest.mark.parametrize("text", ["max\n", f"{UNLIMITED_V1}\n"])
def test_both_ways_to_say_no_limit(text: str):
    assert parse_limit(text) is None


def test_kernels_before_4_13_do_not_count_kills():
    assert parse_oom_kills("oom_kill_disable 0\nunder_oom 0\n") is None


def test_what_cannot_be_read_is_left_out(machine):
    watched = machine(
        {
            "proc/42/cgroup": "0::/job\n",
            "sys/fs/cgroup/job/memory.current": "300\n",
            "sys/fs/cgroup/job/memory.max": "no number\n",
            "sys/fs/cgroup/job/memory.events": "oom_kill\n",
        }
    )

    assert CgroupMemory(watched).collect() == {"cgroup_memory_used_bytes": 300.0}


def test_a_process_without_a_memory_controller_is_no_error(machine):
    watched = machine({"proc/42/cgroup": "5:cpu:/job\n"})

    with pytest.raises(SourceUnavailable, match="process 42"):
        CgroupMemory(watched)
