"""One process' numbers, and the tree it is in."""

from pathlib import Path

import pytest

from tb_health_plugin.collectors.process_stat import descendants, parse_stat

# A shell with children that ended, as a kernel 6.18 shows it.
BASH = (
    "24116 (bash) S 24113 24116 24116 0 -1 4194560 1847 29463 5 8 10 20 300 4000 20 0 "
    "3 0 305178 5124096 942 18446744073709551615 94165441650688 94165442440093 0 0 0 0 "
    "65536 4 1132560123 1 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
)


def stat(pid: int, parent: int) -> str:
    return BASH.replace("24116 (bash) S 24113", f"{pid} (x) S {parent}")


def test_the_numbers_of_a_process():
    found = parse_stat(BASH)

    assert found is not None
    assert (found.parent, found.threads, found.resident_pages) == (24113, 3, 942)
    assert found.major_faults == 5
    assert found.cpu_ticks == 4330
    assert not found.ended


@pytest.mark.parametrize(
    "name", ["a b", ") R 1 1", "(", "", "\N{REPLACEMENT CHARACTER}"]
)
def test_a_name_may_hold_anything(name: str):
    assert parse_stat(BASH.replace("bash", name)) == parse_stat(BASH)


def test_a_zombie_has_ended():
    found = parse_stat(BASH.replace(" S ", " Z "))

    assert found is not None
    assert found.ended


@pytest.mark.parametrize(
    "text", ["", "24116 (bash) S 24113\n", BASH.replace("942", "x")]
)
def test_malformed_text_is_nothing(text: str):
    assert parse_stat(text) is None


def test_children_of_any_thread_and_their_children(machine, tmp_path: Path):
    machine(
        {
            "proc/42/task/42/children": "50 51 \n",
            "proc/42/task/43/children": "52 \n",
            "proc/50/task/50/children": "60 \n",
            "proc/52/task/52/children": "",
            "proc/60/task/60/children": "",
        }
    )

    found = descendants(tmp_path / "proc", 42, leave_out=1)

    assert set(found) == {50, 51, 52, 60}
    assert found.index(50) < found.index(60)


def test_kernels_that_list_no_children_are_asked_for_parents(machine, tmp_path: Path):
    machine(
        {
            "proc/1/stat": stat(1, 0),
            "proc/42/stat": stat(42, 1),
            "proc/50/stat": stat(50, 42),
            "proc/60/stat": stat(60, 50),
            "proc/70/stat": stat(70, 1),
            "proc/80/stat": "nonsense",
            "proc/meminfo": "",
        }
    )

    assert descendants(tmp_path / "proc", 42, leave_out=1) == [50, 60]


def test_the_watcher_is_left_out_with_all_below_it(machine, tmp_path: Path):
    machine(
        {
            "proc/42/task/42/children": "50 51 \n",
            "proc/50/task/50/children": "60 \n",
        }
    )

    assert descendants(tmp_path / "proc", 42, leave_out=50) == [51]


def test_a_pid_used_again_makes_no_circle(machine, tmp_path: Path):
    machine(
        {
            "proc/42/task/42/children": "50 \n",
            "proc/50/task/50/children": "42 50 \n",
        }
    )

    assert descendants(tmp_path / "proc", 42, leave_out=1) == [50]
