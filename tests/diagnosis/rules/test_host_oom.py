"""What needed the memory, once the kernel has killed for it."""

import numpy as np

from tb_health_plugin.diagnosis.rules.host_oom import RULE
from tb_health_plugin.diagnosis.verdict import Verdict
from tb_health_plugin.events import facts
from tests.diagnosis.rules.histories import (
    MIB,
    START,
    ask,
    epochs,
    run_started,
    seconds_of,
    training_started,
)

KILLED = facts.ProcessEnded(wall_time=START + 5, step=50, signal=9, cgroup_oom_kills=1)
CACHED = {"data.cache": "True", "data.batches": "200"}


def run(course, *told, settings=None, ended=KILLED, **columns):
    samples = {
        "wall_time": seconds_of(len(course)),
        "process_rss_bytes": np.array(course) * MIB,
        **columns,
    }
    return ask(
        RULE,
        run_started(),
        training_started(settings=settings),
        *told,
        ended,
        samples=samples,
    )


def test_a_cache_that_was_filling():
    found = run([600, 800, 1_000, 1_200, 1_400], settings=CACHED)

    assert isinstance(found, Verdict)
    assert found.confidence == "proven"
    assert "16 MiB with each batch" in found.evidence[-1].text
    assert "All 200 batches would take about 3.1 GiB" in found.evidence[-1].text
    assert "cache" in (found.fixes[0].code or "")


def test_what_the_whole_cache_would_need_is_what_to_ask_for():
    ended = facts.ProcessEnded(
        wall_time=START + 5,
        step=50,
        signal=9,
        cgroup_oom_kills=1,
        peak_memory_bytes=1_400 * MIB,
        memory_limit_bytes=1_500 * MIB,
    )

    found = run(
        [600, 800, 1_000, 1_200, 1_400],
        settings=CACHED,
        ended=ended,
        cgroup_memory_limit_bytes=[1_500 * MIB] * 5,
    )

    assert isinstance(found, Verdict)
    assert found.fixes[-1].why == (
        "With it the run would have needed about 3.7 GiB; its limit is 1.5 GiB."
    )
    assert found.fixes[-1].code == (
        "docker update --memory=5g --memory-swap=5g CONTAINER"
    )


def test_a_shuffle_buffer_before_the_first_step():
    ended = facts.ProcessEnded(wall_time=START + 5, signal=9, cgroup_oom_kills=1)

    found = run([600, 900, 1_200], settings={"data.shuffle": "True"}, ended=ended)

    assert isinstance(found, Verdict)
    assert "shuffle buffer" in found.evidence[-1].text


def test_data_workers_that_hold_most_of_it():
    found = run(
        [600] * 5,
        settings={"data.workers": "8"},
        tree_rss_bytes=np.full(5, 4_000.0) * MIB,
        tree_processes=[9.0] * 5,
    )

    assert isinstance(found, Verdict)
    assert found.evidence[-1].text.startswith("8 other processes")
    assert "There are 8 now" in found.fixes[0].why


def test_one_thing_that_was_loaded():
    found = run([600, 600, 600, 1_500])

    assert isinstance(found, Verdict)
    assert "900 MiB within a second" in found.evidence[-1].text


class TestNothingToAdd:
    def test_a_cache_that_was_full_before(self):
        assert run([1_000] * 5, *epochs([1.0], 20), settings=CACHED) is None

    def test_a_level_that_stayed(self):
        assert run([1_400] * 5) is None

    def test_no_sample(self):
        assert ask(RULE, run_started(), training_started(), KILLED) is None

    def test_a_kill_for_another_reason(self):
        ended = facts.ProcessEnded(
            wall_time=START + 5, signal=9, cgroup_oom_kills=0, machine_oom_kills=0
        )

        assert run([600, 1_500], ended=ended) is None

    def test_a_run_that_finished(self):
        assert ask(RULE, run_started(), training_started()) is None
