"""Runs that were ended in silence, and runs that were only killed."""

import signal
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from tb_health_plugin.diagnosis.story import tell
from tb_health_plugin.diagnosis.verdict import Story
from tb_health_plugin.events import facts
from tb_health_plugin.reading.liveness import Life
from tb_health_plugin.reading.run_history import Attempt

GONE = Life(alive=False, because="Process 7 is gone.")


def story(
    silent: float = 15.0,
    *,
    seconds: int = 20,
    cpu: float = 1.0,
    phase: str = "training",
    steps: Sequence[float] | None = None,
    settings: Mapping[str, str] | None = None,
    last_step: int = 200,
    number: int = signal.SIGKILL,
    process: Mapping[str, str] | None = None,
    epochs: Sequence[facts.EpochEnded] = (),
    columns: Mapping[str, float] | None = None,
    **more,
) -> Story:
    """Ten steps a second for `seconds`, then silence; `cpu` cores are used in it."""
    total = seconds + round(silent)
    times = [100.0 + n for n in range(total)]
    attempt = Attempt("a")
    attempt.samples.append(
        {
            "wall_time": np.asarray(times),
            "step": np.asarray(
                steps
                or [min(last_step, n * last_step / seconds) for n in range(total)],
                float,
            ),
            "tree_cpu_seconds": np.asarray([cpu * n for n in range(total)]),
            **{n: np.full(total, v) for n, v in (columns or {}).items()},
        }
    )
    attempt.add(facts.RunStarted(wall_time=99.0, pid=7, settings=process or {}))
    attempt.add(
        facts.TrainingStarted(
            wall_time=100.0,
            training=0,
            planned_epochs=3,
            first_step=0,
            settings=settings or {},
        )
    )
    for epoch in epochs:
        attempt.add(epoch)
    attempt.add(
        facts.ProcessEnded(
            wall_time=100.0 + seconds + silent,
            step=last_step,
            signal=int(number),
            silent_seconds=silent,
            phase=phase,
            cgroup_oom_kills=more.pop("kills", 0),
            **more,
        )
    )
    return tell(attempt, GONE)


def five_epochs(pause: float) -> list[facts.EpochEnded]:
    return [
        facts.EpochEnded(
            wall_time=104.0 + 4 * n - pause,
            training=0,
            epoch=n,
            started_at=100.0 + 4 * n,
        )
        for n in range(5)
    ]


class TestHung:
    def test_it_computed(self):
        told = story()

        assert (told.state, told.verdict.id) == ("died", "compute_hang")
        assert (told.verdict.detail, told.verdict.confidence) == ("busy", "likely")
        assert told.headline == "Stood still for 15 s at step 200, then was killed"

    def test_it_computed_on_a_crowded_machine(self):
        crowded = {"load_1min": 8.0, "machine_cpu_cores": 2.0}

        told = story(cpu=0.25, columns=crowded)

        assert told.verdict.confidence == "likely"

    def test_it_did_nothing_and_python_makes_its_data(self):
        told = story(cpu=0.0, settings={"data.kind": "generator"})

        assert (told.verdict.id, told.verdict.confidence) == ("input_hang", "possible")
        assert told.headline.startswith("Probably stood still")

    def test_it_did_nothing_and_nothing_says_why(self):
        told = story(cpu=0.0)

        assert (told.verdict.id, told.verdict.confidence) == (
            "compute_hang",
            "possible",
        )

    def test_it_is_one_of_several_workers(self):
        two = {"env.TF_CONFIG": "task worker 0, cluster worker 2"}

        told = story(cpu=0.0, process=two)

        assert (told.verdict.id, told.verdict.confidence) == ("peer_lost", "possible")

    def test_between_epochs(self):
        told = story(silent=90.0, cpu=0.0, phase="between_epochs")

        assert told.verdict.id == "callback_hang"

    def test_callbacks_can_have_an_alarm_clock(self):
        told = story(70.0, cpu=0.0, phase="between_epochs")

        assert "dump_traceback_later(60, exit=True)" in told.verdict.fixes[0].code

    def test_between_epochs_that_used_to_follow_each_other_at_once(self):
        told = story(
            silent=15.0, cpu=0.0, phase="between_epochs", epochs=five_epochs(0.2)
        )

        assert told.verdict.id == "callback_hang"

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
    def test_ended_otherwise(self, number: int):
        told = story(number=number)

        assert (told.state, told.verdict.id) == ("ended_early", "compute_hang")


class TestOnlyKilled:
    def test_in_the_middle_of_its_work(self):
        assert story(silent=0.1).verdict.id == "killed_outside"

    def test_after_a_short_pause(self):
        assert story(silent=5.0).verdict.id == "killed_outside"

    def test_where_steps_take_that_long(self):
        told = story(silent=15.0, seconds=200, last_step=20)

        assert told.verdict.id == "killed_outside"

    def test_where_such_pauses_had_been_before(self):
        steps = [n * 10.0 for n in range(5)] + [50.0] * 13 + [190.0, 200.0]
        steps += [200.0] * 15

        assert story(seconds=20, steps=steps).verdict.id == "killed_outside"

    def test_while_it_still_compiles(self):
        told = story(silent=60.0, phase="starting", last_step=200)

        assert told.verdict.id == "killed_outside"

    @pytest.mark.parametrize("pause", [None, 3.0])
    def test_between_epochs_that_pause_or_are_not_known(self, pause: float | None):
        epochs = () if pause is None else five_epochs(pause)

        told = story(silent=15.0, cpu=0.0, phase="between_epochs", epochs=epochs)

        assert told.verdict.id == "killed_outside"

    def test_while_it_saves_between_epochs(self):
        told = story(silent=90.0, phase="between_epochs", cpu=0.6)

        assert told.verdict.id == "killed_outside"

    def test_after_too_few_steps(self):
        assert story(last_step=5).verdict.id == "killed_outside"

    def test_for_memory(self):
        assert story(kills=1).verdict.id == "host_oom"

    def test_a_crash(self):
        assert story(number=signal.SIGSEGV).verdict.id == "native_crash"
