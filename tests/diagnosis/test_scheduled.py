"""Time that is up, told by the moment; and moments that only look so."""

import signal

import pytest

from tb_health_plugin.diagnosis.story import tell
from tb_health_plugin.diagnosis.verdict import Story
from tb_health_plugin.events import facts
from tb_health_plugin.reading.liveness import Life
from tb_health_plugin.reading.run_history import Attempt
from tb_health_plugin.reading.table import TIME

GONE = Life(alive=False, because="Process 1 is gone.")
ENDED_AT = 1_000.0
BY_TIMEOUT = {"limit.by": "timeout 900"}


def story(
    settings: dict[str, str],
    *told: facts.Fact,
    number: int,
    cpu: tuple[float, ...] = (),
    processes: float | None = None,
    **seen,
) -> Story:
    attempt = Attempt("a")
    attempt.add(facts.RunStarted(wall_time=1.0, pid=1, settings=settings))
    attempt.add(facts.TrainingStarted(wall_time=2.0, training=0, planned_epochs=3))
    attempt.add(facts.EpochEnded(wall_time=3.0, step=70, epoch=0))
    for fact in told:
        attempt.add(fact)
    if cpu:
        times = [ENDED_AT - len(cpu) + at + 0.5 for at in range(len(cpu))]
        counted = (
            {} if processes is None else {"tree_processes": [processes] * len(cpu)}
        )
        attempt.samples.append({TIME: times, "tree_cpu_seconds": list(cpu), **counted})
    attempt.add(
        facts.ProcessEnded(wall_time=ENDED_AT, step=70, signal=int(number), **seen)
    )
    return tell(attempt, GONE)


class TestTheMoment:
    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
    @pytest.mark.parametrize("ends_at", ["999.8", "1001.0", "970.0"])
    def test_it_came_when_it_was_announced(self, number: int, ends_at: str):
        told = story({**BY_TIMEOUT, "limit.ends_at": ends_at}, number=number)

        verdict = told.verdict
        assert (verdict.id, verdict.detail) == ("preempted", "time_limit")
        assert verdict.confidence == "likely"
        assert told.headline == "Its time was up: timeout 900 ended it at step 70"

    @pytest.mark.parametrize("ends_at", ["1010.0", "900.0", "never"])
    def test_another_moment_says_nothing(self, ends_at: str):
        settings = {**BY_TIMEOUT, "limit.ends_at": ends_at}

        assert story(settings, number=signal.SIGKILL).verdict.id == "killed_outside"
        assert story(settings, number=signal.SIGTERM).verdict.detail == "SIGTERM"

    def test_a_kill_for_memory_stays_one(self):
        settings = {**BY_TIMEOUT, "limit.ends_at": "1000.0"}
        told = story(settings, number=signal.SIGKILL, cgroup_oom_kills=1)

        assert told.verdict.id == "host_oom"

    def test_slurm_is_asked_for_more_time(self):
        settings = {"limit.by": "Slurm", "limit.ends_at": "1000.0"}

        told = story(settings, number=signal.SIGTERM)

        assert told.headline == "Its time was up: Slurm ended it at step 70"
        assert told.verdict.fixes[0].code == "#SBATCH --time=00:34:00"

    def test_what_is_left_tells_how_much_more(self):
        epoch = facts.EpochEnded(
            wall_time=502.0, step=70, training=0, epoch=0, last_step=70
        )
        settings = {"limit.by": "timeout 900", "limit.ends_at": "1000.0"}

        told = story(settings, epoch, number=signal.SIGTERM)

        fix = told.verdict.fixes[0]
        assert fix.why == (
            "It had 17 min; with the 2 epochs that are left it needs about 33 min."
        )
        assert fix.code == "timeout 2400 python train.py"


CPU_LIMIT = {"limit.cpu_seconds": "60"}


class TestCpuTime:
    # The last sample is half a second old, and eight cores do much in that time.
    @pytest.mark.parametrize(
        "cpu", [(58.0, 59.0, 60.0), (40.0, 48.0, 56.0), (48.0, 56.0, 0.0)]
    )
    def test_all_of_it_was_used(self, cpu: tuple[float, ...]):
        told = story(CPU_LIMIT, number=signal.SIGKILL, cpu=cpu)

        assert (told.verdict.id, told.verdict.detail) == ("killed_outside", "cpu_time")
        assert "CPU time" in told.headline
        assert "ulimit -t" in told.verdict.fixes[0].code

    def test_more_than_all_by_a_clock_that_lost_none(self):
        """As seen on a machine that was often not given its time."""
        told = story(
            CPU_LIMIT, number=signal.SIGKILL, cpu=(150.0, 155.0, 156.0), processes=1.0
        )

        assert told.verdict.detail == "cpu_time"

    @pytest.mark.parametrize(
        ("number", "cpu"),
        [
            (signal.SIGKILL, (30.0, 31.0, 32.0)),
            (signal.SIGKILL, ()),
            # Most of it was used by its children.
            (signal.SIGKILL, (400.0, 401.0, 402.0)),
            (signal.SIGTERM, (58.0, 59.0, 60.0)),
        ],
    )
    def test_not_all_of_it(self, number: int, cpu: tuple[float, ...]):
        told = story(CPU_LIMIT, number=number, cpu=cpu)

        assert told.verdict.detail in ("SIGKILL", "SIGTERM")


@pytest.mark.parametrize(
    ("settings", "expected"), [({"env.WATCHDOG_USEC": "30000000"}, True), ({}, False)]
)
def test_a_watchdog_is_only_mentioned(settings: dict[str, str], expected: bool):
    told = story(settings, number=signal.SIGABRT)

    assert told.verdict.id == "native_crash"
    said = " ".join(evidence.text for evidence in told.verdict.evidence)
    assert ("watchdog" in said) == expected
