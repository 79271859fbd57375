"""Where the groups of a process are, on the kinds of machines there are."""

from pathlib import Path

import pytest

from tb_health_plugin.collectors.cgroups import Groups, groups_of
from tb_health_plugin.collectors.collector import SourceUnavailable, Watched

# As a machine with both versions shows it.
HYBRID = "9:name=systemd:/\n8:pids:/job\n4:memory:/a/b\n1:cpu:/\n0::/\n"


def found(watched: Watched, controller: str) -> tuple[int, list[str]]:
    groups = groups_of(watched, controller, v1="one", v2="two")
    top = watched.root / "sys/fs/cgroup"
    return groups.version, [str(f.relative_to(top)) for f in groups.folders]


def test_version_2_from_the_group_up_to_the_top(machine):
    watched = machine(
        {
            "proc/42/cgroup": "0::/a/b\n",
            "sys/fs/cgroup/a/b/two": "",
            "sys/fs/cgroup/a/two": "",
            "sys/fs/cgroup/two": "",
        }
    )

    assert found(watched, "cpu") == (2, ["a/b", "a", "."])


def test_a_group_that_the_controller_does_not_rule_is_passed_over(machine):
    watched = machine(
        {
            "proc/42/cgroup": "0::/a/b\n",
            "sys/fs/cgroup/a/b/cgroup.procs": "",
            "sys/fs/cgroup/a/two": "",
        }
    )

    assert found(watched, "cpu") == (2, ["a"])


@pytest.mark.parametrize("folder", ["cpu", "cpu,cpuacct", "cpuacct,cpu"])
def test_controllers_of_version_1_may_share_a_tree(machine, folder: str):
    watched = machine(
        {
            "proc/42/cgroup": "3:cpu,cpuacct:/job\n2:cpuset:/\n",
            "sys/fs/cgroup/cpuset/job/one": "",
            f"sys/fs/cgroup/{folder}/job/one": "",
        }
    )

    assert found(watched, "cpu") == (1, [f"{folder}/job"])


def test_with_both_versions_a_controller_is_where_its_line_is(machine):
    watched = machine(
        {
            "proc/42/cgroup": HYBRID,
            "sys/fs/cgroup/memory/a/b/one": "",
            "sys/fs/cgroup/unified/two": "",
        }
    )

    assert found(watched, "memory") == (1, ["memory/a/b"])
    assert found(watched, "hugetlb") == (2, ["unified"])


def test_a_container_that_made_a_group_below_its_own(machine):
    """/docker/abc is the mount itself, so /docker/abc/sub is its `sub`."""
    watched = machine(
        {
            "proc/42/cgroup": "4:memory:/docker/abc/sub\n",
            "sys/fs/cgroup/memory/sub/one": "",
            "sys/fs/cgroup/memory/one": "",
        }
    )

    assert found(watched, "memory") == (1, ["memory/sub", "memory"])


def test_a_process_outside_of_our_namespace_is_not_looked_for(machine):
    watched = machine(
        {
            "proc/42/cgroup": "0::/../other\n",
            "sys/fs/other/two": "",
            "sys/fs/cgroup/two": "",
        }
    )

    with pytest.raises(SourceUnavailable):
        found(watched, "cpu")


@pytest.mark.parametrize(
    "text", ["", "\n", "nonsense\n", "4:memory\n", "5:cpu:/\n", "4:name=memory:/\n"]
)
def test_no_group_is_no_error(machine, text: str):
    watched = machine({"proc/42/cgroup": text, "sys/fs/cgroup/x": ""})

    with pytest.raises(SourceUnavailable, match="no memory control group"):
        found(watched, "memory")


def test_a_machine_without_control_groups_is_no_error(machine):
    with pytest.raises(SourceUnavailable):
        found(machine({}), "memory")


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({"own": 5, "above": 9}, (5, "own")),
        ({"own": 9, "above": 5}, (5, "above")),
        ({"own": None, "above": 5}, (5, "above")),
        ({"own": 5, "above": 5}, (5, "above")),
        ({"own": None, "above": None}, (None, "own")),
    ],
)
def test_the_tightest_limit(limits: dict[str, float | None], expected):
    groups = Groups(2, (Path("own"), Path("above")))

    limit, folder = groups.tightest(lambda f: limits[f.name])

    assert (limit, folder.name) == expected
