"""Cores that may not be used, and cores that nobody wants."""

from typing import ClassVar

import numpy as np
import pytest

from tb_health_plugin.diagnosis.rules.cpu_limited import RULE
from tb_health_plugin.diagnosis.verdict import Verdict
from tests.diagnosis.rules.histories import (
    ask,
    run_started,
    seconds_of,
    time_spent,
    training_ended,
    training_started,
)

COUNT = 20
ONE_THREAD = {"threads.intra_op": "1", "threads.inter_op": "1", "cpus": "2"}


def rising(per_second):
    """A counter that rises by these amounts, second by second."""
    return np.cumsum([0.0, *np.broadcast_to(per_second, COUNT - 1)])


def run(*, settings=None, samples=None, step_seconds=4.5, steps=50, env=None):
    stretch = {"seconds": 5.0, "steps": steps, "step_seconds": step_seconds}
    return ask(
        RULE,
        run_started(**(env or {})),
        training_started(settings=settings),
        *time_spent([{**stretch, "wait_seconds": 0.1}] * 4),
        training_ended(COUNT, 4 * steps),
        samples={"wall_time": seconds_of(COUNT), **(samples or {})},
    )


class TestQuota:
    @staticmethod
    def samples(*, limit, periods, cores, cpus=2.0):
        return {
            "cgroup_cpu_limit_cores": [limit] * COUNT,
            "cgroup_cpu_throttled_periods": rising(periods),
            "tree_cpu_seconds": rising(cores),
            "machine_cpu_cores": [cpus] * COUNT,
            "step": rising(10),
        }

    def test_it_stops_the_training_in_nearly_every_period(self):
        found = run(samples=self.samples(limit=0.4, periods=9.0, cores=0.39))

        assert isinstance(found, Verdict)
        assert found.detail == "quota"
        assert found.severity == "warning"
        assert found.headline == "A CPU quota of 0.4 cores held the training back"
        assert "90% of all periods" in found.evidence[0].text
        assert "input_bound" in found.explains

    def test_it_came_in_the_middle(self):
        samples = self.samples(
            limit=0.4,
            periods=[0.0] * 8 + [9.5] * 11,
            cores=[1.8] * 8 + [0.4] * 11,
        )
        samples["step"] = rising([20.0] * 8 + [4.0] * 11)

        found = run(samples=samples)

        assert isinstance(found, Verdict)
        assert found.cause_at.wall_time == seconds_of(COUNT)[9]
        assert "steps a second before" in found.evidence[-1].text

    def test_a_container_with_some_cores_of_many_is_everyday_life(self):
        found = run(samples=self.samples(limit=4.0, periods=9.0, cores=3.9, cpus=32.0))

        assert isinstance(found, Verdict)
        assert found.severity == "info"

    def test_a_quota_that_is_never_reached(self):
        assert run(samples=self.samples(limit=1.5, periods=0.0, cores=0.8)) is None

    def test_a_quota_that_is_touched_now_and_then(self):
        assert run(samples=self.samples(limit=1.5, periods=1.0, cores=1.2)) is None

    def test_a_quota_of_all_cores(self):
        assert run(samples=self.samples(limit=2.0, periods=6.0, cores=1.9)) is None

    def test_no_quota(self):
        samples = self.samples(limit=0.4, periods=9.0, cores=0.39)
        del samples["cgroup_cpu_limit_cores"]

        assert run(samples=samples) is None


class TestThreads:
    def test_one_thread_while_it_computes(self):
        found = run(settings=ONE_THREAD, samples={"tree_cpu_seconds": rising(1.0)})

        assert isinstance(found, Verdict)
        assert found.detail == "threads"
        assert found.place == {"setting": "intra_op_parallelism_threads"}

    def test_one_thread_by_the_environment(self):
        found = run(
            settings={"cpus": "8", "threads.intra_op": "0"},
            env={"env.TF_NUM_INTRAOP_THREADS": "1"},
            samples={"tree_cpu_seconds": rising(1.0)},
        )

        assert isinstance(found, Verdict)

    def test_no_setting_and_one_core_in_use(self):
        found = run(
            settings={"cpus": "2", "threads.intra_op": "0"},
            samples={"tree_cpu_seconds": rising(1.0)},
        )

        assert found is None

    def test_a_machine_with_one_cpu(self):
        found = run(
            settings={**ONE_THREAD, "cpus": "1"},
            samples={"tree_cpu_seconds": rising(1.0)},
        )

        assert found is None

    def test_it_uses_more_than_one_core_all_the_same(self):
        samples = {"tree_cpu_seconds": rising(1.7)}

        assert run(settings=ONE_THREAD, samples=samples) is None

    def test_steps_that_gain_nothing_from_threads(self):
        samples = {"tree_cpu_seconds": rising(1.0)}

        assert run(settings=ONE_THREAD, samples=samples, steps=2_000) is None

    def test_it_waits_for_data_and_does_not_compute(self):
        samples = {"tree_cpu_seconds": rising(0.3)}

        found = run(settings=ONE_THREAD, samples=samples, step_seconds=1.0)

        assert found is None

    def test_steps_that_run_on_a_gpu(self):
        samples = {"tree_cpu_seconds": rising(1.0)}

        assert run(settings={**ONE_THREAD, "gpus": "1"}, samples=samples) is None


class TestOneCpu:
    BOUND: ClassVar = {"cpus": "1", "threads.intra_op": "0"}

    def samples(self, cores=1.0, cpus=8.0):
        return {
            "tree_cpu_seconds": rising(cores),
            "machine_cpu_cores": [cpus] * COUNT,
        }

    def test_bound_to_one_of_eight(self):
        found = run(settings=self.BOUND, samples=self.samples())

        assert isinstance(found, Verdict)
        assert found.detail == "affinity"
        assert found.headline == (
            "The process may use one of the 8 CPUs of this machine"
        )

    def test_a_machine_that_has_one(self):
        assert run(settings=self.BOUND, samples=self.samples(cpus=1.0)) is None

    def test_one_that_is_hardly_used(self):
        assert run(settings=self.BOUND, samples=self.samples(cores=0.4)) is None

    def test_bound_to_two(self):
        settings = {**self.BOUND, "cpus": "2"}

        assert run(settings=settings, samples=self.samples()) is None

    def test_steps_that_gain_nothing_from_more(self):
        found = run(settings=self.BOUND, samples=self.samples(), steps=2_000)

        assert found is None


class TestHeat:
    @staticmethod
    def samples(pace):
        return {
            "cpu_throttle_count": rising([0.0] * 9 + [5.0] * 10),
            "temperature_celsius": [60.0] * 10 + [97.0] * 10,
            "step": rising(pace),
            "tree_cpu_seconds": rising(1.8),
        }

    def test_steps_are_slow_while_it_is_hot(self):
        found = run(samples=self.samples([10.0] * 9 + [4.0] * 10))

        assert isinstance(found, Verdict)
        assert found.detail == "heat"
        assert "97 °C" in found.headline

    def test_steps_that_are_as_fast_as_before(self):
        assert run(samples=self.samples([10.0] * 19)) is None


class TestGaps:
    def test_no_training(self):
        assert ask(RULE) is None

    def test_no_samples(self):
        assert run(settings=ONE_THREAD) is None

    @pytest.mark.parametrize("odd", ["", "many", "nan"])
    def test_settings_that_are_no_numbers(self, odd):
        assert run(settings={**ONE_THREAD, "cpus": odd}) is None
