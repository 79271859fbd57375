"""Waiting for data, and waiting that does not matter."""

import pytest

from tb_health_plugin.diagnosis.rules.input_bound import RULE
from tb_health_plugin.diagnosis.verdict import NotMeasured, Verdict
from tests.diagnosis.rules.histories import (
    ask,
    epochs,
    seconds_of,
    time_spent,
    training_ended,
    training_started,
)


def stretch(wait, *, seconds=5.0, steps=50, **more):
    """A stretch of which `wait` is the share of waiting."""
    return {
        "seconds": seconds,
        "steps": steps,
        "wait_seconds": wait * seconds,
        "step_seconds": (1 - wait) * seconds,
        **more,
    }


def run(*stretches, settings=None, told=(), samples=None):
    return ask(
        RULE,
        training_started(settings=settings),
        *time_spent(stretches),
        *told,
        training_ended(100, 400),
        samples=samples,
    )


def cpu_and_disk(cores, read_per_second, count=20):
    return {
        "wall_time": seconds_of(count),
        "tree_cpu_seconds": [cores * second for second in range(count)],
        "tree_read_bytes": [read_per_second * second for second in range(count)],
    }


class TestWaiting:
    def test_most_of_the_time(self):
        found = run(stretch(0.8), stretch(0.8), stretch(0.8))

        assert isinstance(found, Verdict)
        assert found.severity == "warning"
        assert found.headline == "The training waited for data 80% of the time"
        assert "80 ms were waiting" in found.evidence[0].text
        assert "5.0 times as fast" in found.evidence[2].text

    def test_in_a_short_run_of_short_epochs(self):
        told = epochs([1.4, 0.9, 0.9, 0.9], 20)

        found = run(stretch(0.7, seconds=4.1, steps=80), told=told)

        assert isinstance(found, Verdict)
        assert found.severity == "warning"

    def test_a_third_of_the_time_is_worth_a_note_but_no_alarm(self):
        found = run(stretch(0.3), stretch(0.3), stretch(0.3))

        assert isinstance(found, Verdict)
        assert found.severity == "info"

    def test_short_waits_of_a_long_run(self):
        found = run(*[stretch(0.7, seconds=5.0, steps=1_000)] * 30)

        assert isinstance(found, Verdict)
        assert found.severity == "warning"

    def test_in_later_epochs_only(self):
        told = epochs([10, 10, 10], 100)

        found = run(stretch(0.0, seconds=10.0), *[stretch(0.9)] * 4, told=told)

        assert isinstance(found, Verdict)


class TestStage:
    @pytest.mark.parametrize(
        ("settings", "detail"),
        [
            ({"data.kind": "generator"}, "generator"),
            ({"data.kind": "PyDataset", "data.workers": "1"}, "py_dataset"),
            ({"data.kind": "tf.data", "data.python": "True"}, "python_function"),
            (
                {
                    "data.kind": "tf.data",
                    "data.python": "False",
                    "data.parallel": "False",
                },
                "serial_map",
            ),
            (
                {
                    "data.kind": "tf.data",
                    "data.parallel": "True",
                    "data.prefetch": "False",
                },
                "no_prefetch",
            ),
            ({"data.kind": "tf.data", "data.prefetch": "True"}, "pipeline"),
            ({}, "unknown"),
        ],
    )
    def test_it_is_told_by_the_settings(self, settings, detail):
        found = run(stretch(0.8), stretch(0.8), settings=settings)

        assert isinstance(found, Verdict)
        assert found.detail == detail
        assert found.fixes

    def test_a_disk_is_slow_if_it_reads_and_hardly_computes(self):
        found = run(
            *[stretch(0.9)] * 3,
            settings={"data.kind": "PyDataset"},
            samples=cpu_and_disk(cores=0.2, read_per_second=4e6),
        )

        assert isinstance(found, Verdict)
        assert found.detail == "disk"
        assert "3.8 MiB a second" in found.evidence[1].text

    def test_workers_are_doubled(self):
        found = run(
            *[stretch(0.9)] * 3,
            settings={
                "data.kind": "PyDataset",
                "data.workers": "6",
                "data.class": "Rows",
            },
        )

        assert isinstance(found, Verdict)
        assert [fix.code for fix in found.fixes] == [
            "super().__init__(workers=12, use_multiprocessing=True)",
            'cProfile.run("data[0]", sort="cumtime")  # data: a Rows',
        ]

    def test_reading_while_a_core_works_is_no_slow_disk(self):
        found = run(
            *[stretch(0.9)] * 3,
            settings={"data.kind": "PyDataset"},
            samples=cpu_and_disk(cores=1.0, read_per_second=4e6),
        )

        assert isinstance(found, Verdict)
        assert found.detail == "py_dataset"


class TestHealthy:
    def test_little_waiting(self):
        assert run(stretch(0.05), stretch(0.1), stretch(0.05)) is None

    def test_a_cold_cache_in_the_first_of_long_epochs(self):
        told = epochs([10, 5, 5, 5], 100)

        found = run(
            stretch(0.9, seconds=10.0), *[stretch(0.02, seconds=5.0)] * 3, told=told
        )

        assert found is None

    def test_a_cold_cache_in_the_first_of_short_epochs(self):
        told = epochs([4.6, 0.15, 0.12, 0.13, 0.12, 0.14, 0.12, 0.13], 25)

        found = run(
            stretch(0.8, seconds=4.7, steps=26),
            stretch(0.02, seconds=0.8, steps=174),
            told=told,
        )

        assert found is None

    def test_a_cold_cache_within_one_stretch(self):
        told = epochs([3.9, 0.15, 0.12, 0.13], 25)

        assert run(stretch(0.8, seconds=4.4, steps=100), told=told) is None

    def test_tiny_steps_that_wait_a_tiny_time(self):
        assert run(*[stretch(0.6, seconds=5.0, steps=2_500)] * 3) is None

    def test_some_seconds_of_waiting_at_the_end_of_a_short_run(self):
        found = run(
            stretch(0.1, seconds=2.3, steps=50),
            stretch(0.75, seconds=2.0, steps=100),
            stretch(0.9, seconds=2.6, steps=50),
            told=epochs([2.3, 0.3, 1.7, 2.6], 50),
        )

        assert found is None

    def test_a_busy_machine_for_a_moment(self):
        found = run(stretch(0.02, seconds=2.0), stretch(0.9, seconds=2.2), stretch(0.1))

        assert found is None

    def test_a_few_steps(self):
        assert run(stretch(0.9, seconds=5.0, steps=8)) is None

    def test_less_than_a_second_in_all(self):
        assert run(stretch(0.9, seconds=1.0, steps=40)) is None

    def test_a_long_validation_is_not_waiting(self):
        found = run(
            *[stretch(0.005, seconds=20.0, validation_seconds=19.0, steps=50)] * 3
        )

        assert found is None

    def test_one_stretch_in_ten_that_waits(self):
        assert run(stretch(0.9), *[stretch(0.02)] * 9) is None


class TestGaps:
    def test_nobody_timed_it(self):
        found = run({"seconds": 5.0, "steps": 50})

        assert isinstance(found, NotMeasured)

    def test_no_training(self):
        assert ask(RULE) is None

    def test_no_step(self):
        assert ask(RULE, training_started()) is None

    @pytest.mark.parametrize("odd", [float("nan"), -5.0, float("inf")])
    def test_odd_numbers(self, odd):
        run({"seconds": odd, "steps": 50, "wait_seconds": odd})
