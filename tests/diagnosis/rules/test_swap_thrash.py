"""Memory that goes to disk and back, and swap that lies still."""

import numpy as np
import pytest

from tb_health_plugin.diagnosis.rules.swap_thrash import RULE
from tb_health_plugin.diagnosis.verdict import Verdict
from tests.diagnosis.rules.histories import (
    ask,
    seconds_of,
    training_ended,
    training_started,
)

COUNT = 60
HALF = COUNT // 2


def rising(first, second):
    """A counter: its pace in the first and in the second half."""
    return np.cumsum([first] * HALF + [second] * (COUNT - HALF))


def run(
    *, pages=(0, 5_000), faults=(0, 400), pressure=(0.0, 0.6), pace=(20, 2), **more
):
    samples = {
        "wall_time": seconds_of(COUNT),
        "machine_swap_in_pages": rising(*pages),
        "machine_swap_out_pages": rising(*pages),
        "process_major_faults": rising(*faults),
        "step": rising(*pace),
        **more,
    }
    if pressure:
        samples["pressure_memory_some_seconds"] = rising(*pressure)
    return ask(RULE, training_started(), training_ended(COUNT, 700), samples=samples)


class TestSwapping:
    def test_steps_take_many_times_as_long(self):
        found = run(process_swap_bytes=[0.0] * HALF + [3e9] * HALF)

        assert isinstance(found, Verdict)
        assert found.confidence == "proven"
        assert "10 times as long" in found.headline
        assert "2.8 GiB" in found.evidence[1].text

    def test_where_the_kernel_measures_no_pressure(self):
        assert isinstance(run(pressure=None), Verdict)

    def test_from_the_first_second_on(self):
        found = run(pages=(5_000, 5_000), faults=(400, 400), pressure=(0.6, 0.6))

        assert isinstance(found, Verdict)
        assert found.confidence == "likely"

    @pytest.mark.parametrize(
        ("limit", "said"),
        [(1e9, "954 MiB that this container may use"), (1e15, "machine's 23.3 GiB")],
    )
    def test_says_of_which_memory_it_holds_how_much(self, limit, said):
        found = run(
            process_rss_bytes=[6e8] * COUNT,
            host_memory_total_bytes=[25e9] * COUNT,
            cgroup_memory_limit_bytes=[limit] * COUNT,
        )

        assert isinstance(found, Verdict)
        assert said in found.fixes[-1].why

    def test_a_slow_disk_moves_few_pages_and_the_training_waits_for_each(self):
        found = run(**SLOW, tree_cpu_seconds=rising(1.5, 0.02))

        assert isinstance(found, Verdict)


# As on a real disk of 300 reads a second.
SLOW = {"pages": (0, 300), "faults": (0, 60), "pressure": (0.0, 0.0)}


class TestHealthy:
    def test_few_pages_while_the_training_works(self):
        assert run(**SLOW, tree_cpu_seconds=rising(1.5, 1.5)) is None
        assert run(**SLOW) is None

    def test_swap_that_lies_still(self):
        assert run(pages=(0, 0), faults=(0, 0), pace=(20, 20)) is None

    def test_another_program_swaps(self):
        assert run(faults=(0, 0)) is None

    def test_files_that_are_read_for_the_first_time(self):
        assert run(pages=(0, 0), faults=(500, 0)) is None

    def test_steps_that_are_as_fast_as_before(self):
        assert run(pace=(20, 20)) is None

    def test_a_few_seconds(self):
        faults = np.zeros(COUNT)
        faults[30:33] = 500

        assert run(process_major_faults=np.cumsum(faults)) is None

    def test_nothing_was_recorded(self):
        assert ask(RULE) is None
        assert ask(RULE, training_started()) is None
