"""How many processes and threads the container may have."""

import pytest

from tb_health_plugin.collectors.cgroup_pids import CgroupPids
from tb_health_plugin.collectors.collector import SourceUnavailable


def group(folder: str, used: int, limit: str, denied: int) -> dict[str, str]:
    return {
        f"sys/fs/cgroup{folder}/pids.current": f"{used}\n",
        f"sys/fs/cgroup{folder}/pids.max": f"{limit}\n",
        f"sys/fs/cgroup{folder}/pids.events": f"max {denied}\n",
    }


@pytest.mark.parametrize(
    "files",
    [
        {"proc/42/cgroup": "0::/job\n", **group("/job", 30, "100", 2)},
        {"proc/42/cgroup": "8:pids:/job\n", **group("/pids/job", 30, "100", 2)},
    ],
    ids=["v2", "v1"],
)
def test_both_versions_read_alike(machine, files: dict[str, str]):
    assert CgroupPids(machine(files)).collect() == {
        "cgroup_pids_used": 30.0,
        "cgroup_pids_limit": 100.0,
        "cgroup_pids_denied": 2.0,
    }


@pytest.mark.parametrize(
    ("own", "above"), [(3, 0), (0, 3), (3, 3)], ids=["v1", "v2", "both"]
)
def test_a_refusal_counts_once_wherever_it_was_counted(machine, own: int, above: int):
    watched = machine(
        {
            "proc/42/cgroup": "0::/slice/job\n",
            **group("/slice/job", 30, "max", own),
            **group("/slice", 90, "90", above),
        }
    )

    assert CgroupPids(watched).collect() == {
        "cgroup_pids_used": 90.0,
        "cgroup_pids_limit": 90.0,
        "cgroup_pids_denied": 3.0,
    }


def test_no_limit_and_no_counter_are_left_out(machine):
    watched = machine(
        {
            "proc/42/cgroup": "0::/job\n",
            "sys/fs/cgroup/job/pids.current": "30\n",
            "sys/fs/cgroup/job/pids.max": "max\n",
            "sys/fs/cgroup/job/pids.events": "max many\n",
        }
    )

    assert CgroupPids(watched).collect() == {"cgroup_pids_used": 30.0}


def test_the_topmost_group_counts_nothing(machine):
    watched = machine(
        {"proc/42/cgroup": "8:pids:/\n", "sys/fs/cgroup/pids/cgroup.procs": "42\n"}
    )

    with pytest.raises(SourceUnavailable, match="no pids control group"):
        CgroupPids(watched)
