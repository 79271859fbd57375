"""Memory that grows without end, and everything that only looks like it."""

import numpy as np
import pytest

from tb_health_plugin.diagnosis.rules.memory_leak import RULE
from tb_health_plugin.diagnosis.verdict import NotMeasured, Verdict
from tb_health_plugin.events import facts
from tests.diagnosis.rules.histories import (
    ALIVE,
    MIB,
    START,
    ask,
    epochs,
    seconds_of,
    time_spent,
    training_ended,
    training_started,
)

SECONDS = 40
STEPS_PER_SECOND = 10
NOISE = np.random.default_rng(7).normal(size=SECONDS) * 5


def memory(course, *, noise=1.0):
    """Samples of one training whose memory in MiB is given second by second."""
    held = (np.asarray(course, float) + noise * NOISE[: len(course)]) * MIB
    return {
        "wall_time": seconds_of(len(course)),
        "step": [second * STEPS_PER_SECOND for second in range(len(course))],
        "process_rss_bytes": held,
        "tree_rss_bytes": held,
        "tree_processes": [1.0] * len(course),
    }


def run(course, *, settings=None, epoch_seconds=8, loop="fit", more=(), noise=1.0):
    count = len(course) // epoch_seconds
    return ask(
        RULE,
        training_started(settings=settings, loop=loop),
        *epochs([epoch_seconds] * count, epoch_seconds * STEPS_PER_SECOND),
        *more,
        training_ended(len(course), len(course) * STEPS_PER_SECOND, epochs=count),
        samples=memory(course, noise=noise),
    )


def grows(start, per_second, count=SECONDS):
    return [start + per_second * second for second in range(count)]


class TestGrowing:
    def test_a_little_with_every_step(self):
        found = run(grows(700, 10))

        assert isinstance(found, Verdict)
        assert found.id == "memory_leak"
        assert found.severity == "warning"
        assert found.confidence == "proven"
        assert found.detail == "per epoch"
        assert found.headline == "Memory grows by 80 MiB with every epoch"
        assert "host_oom" in found.explains

    def test_by_a_tenth_in_all(self):
        found = run(grows(900, 3))

        assert isinstance(found, Verdict)
        assert found.confidence == "likely"

    def test_in_jumps_at_the_end_of_each_epoch(self):
        found = run([700 + 30 * (second // 5) for second in range(40)], epoch_seconds=5)

        assert isinstance(found, Verdict)

    def test_after_a_start_that_takes_more_than_all_the_rest(self):
        found = run([600, 900, 1_000, *grows(1_050, 6, 37)])

        assert isinstance(found, Verdict)
        assert found.cause_at.wall_time == START + 8

    def test_in_a_loop_without_epochs(self):
        found = run(grows(700, 12), loop="loop", epoch_seconds=100)

        assert isinstance(found, Verdict)
        assert found.confidence == "possible"
        assert found.detail == "per step"

    def test_until_the_kernel_killed_it(self):
        killed = facts.ProcessEnded(
            wall_time=START + 6, step=60, signal=9, cgroup_oom_kills=1
        )

        found = ask(
            RULE,
            facts.RunStarted(wall_time=START - 1, pid=1),
            training_started(),
            *epochs([1.5], 15),
            killed,
            samples=memory([700, 900, 1_100, 1_300, 1_500, 1_700]),
        )

        assert isinstance(found, Verdict)
        assert found.severity == "critical"
        assert found.confidence == "possible"

    def test_not_if_all_was_asked_for_in_one_step_before_the_kill(self):
        killed = facts.ProcessEnded(
            wall_time=START + 8, step=50, signal=9, cgroup_oom_kills=1
        )
        samples = memory([700, 705, 706, 710, 715, 900, 1_200, 1_500], noise=0)
        samples["step"] = [0, 10, 20, 30, 40, 50, 50, 50]

        found = ask(
            RULE,
            facts.RunStarted(wall_time=START - 1, pid=1),
            training_started(),
            *epochs([1.5], 15),
            killed,
            samples=samples,
        )

        assert not isinstance(found, Verdict)

    def test_in_data_workers_whose_number_stays(self):
        samples = memory([700] * SECONDS)
        samples["tree_processes"] = [5.0] * SECONDS
        samples["tree_rss_bytes"] = np.array(grows(1_500, 15)) * MIB

        found = ask(
            RULE,
            training_started(),
            *epochs([8] * 5, 80),
            training_ended(40, 400, epochs=5),
            samples=samples,
        )

        assert isinstance(found, Verdict)
        assert found.place["grows"] == "children"
        assert "# in __getitem__" in (found.fixes[0].code or "")

    def test_it_tells_when_the_limit_will_be_reached(self):
        samples = memory(grows(700, 10))
        samples["cgroup_memory_limit_bytes"] = [2_000.0 * MIB] * SECONDS
        samples["cgroup_memory_used_bytes"] = samples["process_rss_bytes"]

        found = ask(
            RULE,
            facts.RunStarted(wall_time=START - 1, pid=1),
            training_started(),
            *epochs([8] * 4, 80),
            samples=samples,
            life=ALIVE,
        )

        assert isinstance(found, Verdict)
        assert "limit of 2.0 GiB is reached in about" in found.evidence[-1].text

    @pytest.mark.parametrize(
        ("limit", "severity"), [(1_150.0, "critical"), (2_000.0, "warning")]
    )
    def test_a_container_that_is_as_good_as_full_is_urgent(self, limit, severity):
        samples = memory(grows(700, 10))
        samples["cgroup_memory_limit_bytes"] = [limit * MIB] * SECONDS
        samples["cgroup_memory_used_bytes"] = samples["process_rss_bytes"]

        found = ask(
            RULE,
            training_started(),
            *epochs([8] * 4, 80),
            training_ended(SECONDS, 320, epochs=4),
            samples=samples,
        )

        assert isinstance(found, Verdict)
        assert found.severity == severity

    def test_it_tells_whether_python_keeps_more_objects(self):
        spent = time_spent(
            [{"python_objects": 100_000}, {"python_objects": 900_000}], at=0
        )

        found = run(grows(700, 10), more=spent)

        assert isinstance(found, Verdict)
        assert "from 100,000 to 900,000" in found.evidence[1].text

    def test_it_names_what_keeps_tensors(self):
        spent = time_spent(
            [
                {"python_objects": 100_000, "tensors": 120, "epoch": 0},
                {
                    "python_objects": 101_000,
                    "tensors": 2_520,
                    "epoch": 2,
                    "tensors_kept_by": "a list of 2,400 tensors, called Keeper.kept",
                },
            ],
            at=0,
        )

        found = run(grows(700, 10), more=spent)

        assert isinstance(found, Verdict)
        assert found.evidence[1].text == (
            "TensorFlow's tensors grew from 120 to 2,520, about 1,200 more with every "
            "epoch; most are in a list of 2,400 tensors, called Keeper.kept."
        )
        assert found.fixes[0].code == r"grep -rnE '\bkept\b' --include='*.py' ."

    def test_few_more_tensors_are_not_worth_a_word(self):
        spent = time_spent(
            [
                {"python_objects": 100_000, "tensors": 120},
                {"python_objects": 101_000, "tensors": 820},
            ],
            at=0,
        )

        found = run(grows(700, 10), more=spent)

        assert isinstance(found, Verdict)
        assert "Python's objects stayed" in found.evidence[1].text


class TestSeveralTrainings:
    @staticmethod
    def trainings(levels, parameters):
        """One training each two seconds, with its memory in MiB."""
        told, times, held, step = [], [], [], 0
        sizes = parameters if isinstance(parameters, list) else None
        for number, level in enumerate(levels):
            at = 2.0 * number
            size = sizes[number] if sizes else parameters
            told.append(
                training_started(
                    at, training=number, step=step, trainable_parameters=size
                )
            )
            step += 10
            told += epochs([1.5], 10, at=at, training=number, first_step=step - 10)
            told.append(training_ended(at + 1.6, step, training=number))
            times += [START + at + 0.5, START + at + 1.5]
            held += [level * MIB, (level + 10) * MIB]
        steps = [10.0 * (index // 2) for index in range(len(times))]
        samples = {"wall_time": times, "process_rss_bytes": held, "step": steps}
        return ask(RULE, *told, samples=samples)

    def test_each_leaves_its_model_behind(self):
        found = self.trainings(
            [600, 700, 740, 720, 790, 850, 880, 870, 960], parameters=2_500_000
        )

        assert isinstance(found, Verdict)
        assert found.detail == "per training"
        assert "process of its own" in found.fixes[0].title

    def test_small_models_that_leave_a_little_are_no_leak(self):
        found = self.trainings(
            [611, 624, 636, 648, 660, 655, 660, 666], parameters=7_500
        )

        assert found is None

    def test_large_models_that_are_freed_are_no_leak(self):
        found = self.trainings(
            [600, 900, 880, 910, 890, 905, 880, 900], parameters=9_000_000
        )

        assert found is None

    def test_larger_and_larger_models_are_no_leak(self):
        sizes = [1_000_000 * 2**n for n in range(8)]

        found = self.trainings([600 + 30 * 2**n for n in range(8)], parameters=sizes)

        assert found is None

    def test_three_trainings_are_too_few(self):
        assert self.trainings([600, 800, 1_000], parameters=9_000_000) is None


class TestHealthy:
    def test_high_and_flat(self):
        assert run([1_400] * SECONDS) is None

    def test_a_start_that_levels_off(self):
        assert run([600, 650, 690, 700, 710, *[715] * 35]) is None

    def test_a_cache_that_fills_in_the_first_epoch(self):
        course = [*grows(600, 60, 8), *[1_080] * 32]

        assert run(course, settings={"data.cache": "True"}) is None

    def test_a_cache_of_the_programs_own_that_fills_in_the_only_epoch(self):
        found = run(
            grows(600, 40), settings={"data.kind": "PyDataset"}, epoch_seconds=40
        )

        assert found is None

    @pytest.mark.parametrize("at", [10, 15, 20, 25, 30, 36])
    def test_one_thing_loaded_in_the_middle(self, at):
        assert run([700] * at + [1_000] * (SECONDS - at)) is None

    @pytest.mark.parametrize(("first", "second"), [(12, 30), (15, 25), (20, 34)])
    def test_two_things_loaded(self, first, second):
        course = [700 + 150 * (s >= first) + 150 * (s >= second) for s in range(40)]

        assert run(course) is None

    def test_growth_that_slows_down_to_nothing(self):
        course = [1_000 - 300 * 0.85**second for second in range(SECONDS)]

        assert run(course) is None

    def test_growth_like_a_logarithm(self):
        course = [700 + 150 * np.log(1 + second) for second in range(SECONDS)]

        assert run(course, epoch_seconds=2, noise=0.0) is None

    def test_a_long_run_that_takes_next_to_nothing_is_no_alarm(self):
        samples = memory(grows(700, 10))
        samples["wall_time"] = [START + 60.0 * minute for minute in range(SECONDS)]
        samples["host_memory_total_bytes"] = [64_000.0 * MIB] * SECONDS
        samples["host_memory_used_bytes"] = samples["process_rss_bytes"]

        found = ask(
            RULE,
            training_started(),
            *epochs([480.0] * 5, 80),
            training_ended(2_400, 400, epochs=5),
            samples=samples,
        )

        assert isinstance(found, Verdict)
        assert found.severity == "info"

    def test_up_and_down_like_garbage(self):
        course = [700 + 200 * (second % 10) / 10 for second in range(SECONDS)]

        assert run(course) is None

    def test_a_buffer_that_is_filled_anew_in_each_epoch(self):
        course = [700 + 40 * min(second % 8, 5) for second in range(SECONDS)]

        assert run(course) is None

    def test_a_creep_of_a_few_megabytes(self):
        assert run(grows(700, 0.5)) is None

    def test_wild_noise_without_a_trend(self):
        rng = np.random.default_rng(3)
        for _ in range(50):
            assert run(700 + 150 * rng.random(SECONDS)) is None

    def test_a_run_of_a_few_seconds(self):
        assert run([600, 700, 800, 900], epoch_seconds=2) is None

    def test_what_is_freed_after_the_training_is_not_looked_at(self):
        assert run([900] * SECONDS) is None


class TestGaps:
    def test_without_samples_it_says_so(self):
        assert isinstance(ask(RULE, training_started()), NotMeasured)

    def test_without_a_training(self):
        assert ask(RULE, samples=memory(grows(700, 10))) is None

    def test_one_sample(self):
        assert ask(RULE, training_started(), samples=memory([700])) is None

    def test_time_that_goes_backwards(self):
        samples = memory(grows(700, 10))
        samples["wall_time"] = samples["wall_time"][::-1]

        ask(RULE, training_started(), *epochs([8] * 4, 80), samples=samples)

    def test_numbers_that_are_nan(self):
        samples = memory([float("nan")] * SECONDS)

        assert isinstance(ask(RULE, training_started(), samples=samples), NotMeasured)
