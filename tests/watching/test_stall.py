"""When the judge speaks, and above all when it does not."""

from collections.abc import Iterable

import pytest

from tb_health_plugin.watching.stall import (
    ENDLESS_SECONDS,
    IDLE_SECONDS,
    PREPARING_IDLE_SECONDS,
    Look,
    Recovery,
    Sleep,
    Stall,
    StallJudge,
)
from tb_health_plugin.writing.black_box import Progress
from tb_health_plugin.writing.phases import Phase

CORE = 1.0
IDLE = 0.0


class Run:
    """A training in a time of its own, looked at once a second."""

    def __init__(self, *, trains_soon: bool = False) -> None:
        self.judge = StallJudge(trains_soon=trains_soon)
        self.answers: list[Stall | Recovery | Sleep] = []
        self.now = 1_000.0
        self.cpu_seconds = 0.0
        self.moved_bytes = 0.0
        self.suspended_seconds = 0.0
        self.progress = Progress(
            step=0,
            epoch=0,
            loss=0,
            beat_at=self.now,
            phase_since=self.now,
            wait_seconds=0,
            phase=Phase.NOT_TRAINING,
            beats=0,
        )

    def pass_time(
        self, seconds: float, *, cpu: float = IDLE, moving: float = 0.0
    ) -> None:
        """Lets time go by without a sign of progress."""
        until = self.now + seconds
        while self.now < until - 1e-6:
            # The judge looks at whole seconds, whatever the loop does.
            next_look = float(int(self.now + 1e-6) + 1)
            passed = min(until, next_look) - self.now
            self.now += passed
            self.cpu_seconds += cpu * passed
            self.moved_bytes += moving * passed
            if self.now >= next_look - 1e-6:
                self.look()

    def look(self) -> None:
        answer = self.judge.look(
            Look(
                now=self.now,
                progress=self.progress,
                cpu_seconds=self.cpu_seconds,
                moved_bytes=self.moved_bytes,
                suspended_seconds=self.suspended_seconds,
            )
        )
        if answer is not None:
            self.answers.append(answer)
        if isinstance(answer, Stall):
            self.judge.report()

    def beat(self) -> None:
        self.progress = Progress(
            **{
                **{name: getattr(self.progress, name) for name in Progress.__slots__},
                "beats": self.progress.beats + 1,
                "beat_at": self.now,
            }
        )

    def enter(self, phase: Phase) -> None:
        self.beat()
        self.progress.phase = phase
        self.progress.phase_since = self.now

    def steps(self, seconds: Iterable[float], *, cpu: float = CORE) -> None:
        for duration in seconds:
            self.pass_time(duration, cpu=cpu)
            self.beat()
            self.progress.step += 1

    def batches(self, seconds: Iterable[float]) -> None:
        for duration in seconds:
            self.pass_time(duration, cpu=CORE)
            self.beat()

    @property
    def stalls(self) -> list[Stall]:
        return [answer for answer in self.answers if isinstance(answer, Stall)]


class TestBeforeATraining:
    def test_a_program_that_does_nothing_is_told_once(self):
        run = Run(trains_soon=True)
        run.pass_time(10 * PREPARING_IDLE_SECONDS)

        (stall,) = run.stalls
        assert stall.phase is Phase.NOT_TRAINING
        assert stall.silent_seconds >= PREPARING_IDLE_SECONDS

    @pytest.mark.parametrize("doing", [{"cpu": CORE}, {"moving": 1e6}])
    def test_one_that_prepares_is_not(self, doing):
        run = Run(trains_soon=True)
        run.pass_time(1_000.0, **doing)
        run.pass_time(PREPARING_IDLE_SECONDS - 5.0)

        assert not run.stalls

    def test_that_it_then_trains_is_told(self):
        run = Run(trains_soon=True)
        run.pass_time(2 * PREPARING_IDLE_SECONDS)
        run.enter(Phase.STARTING)
        run.pass_time(2.0, cpu=CORE)

        assert isinstance(run.answers[-1], Recovery)

    def test_somebody_who_types_may_think(self):
        run = Run(trains_soon=False)
        run.pass_time(3_600.0)

        assert not run.answers

    def test_what_comes_after_a_training_may_wait(self):
        run = Run(trains_soon=True)
        run.look()
        run.enter(Phase.TRAINING)
        run.steps([0.1] * 50)
        run.enter(Phase.NOT_TRAINING)
        run.pass_time(3_600.0)

        assert not run.answers

    def test_nor_after_one_between_two_looks(self):
        run = Run(trains_soon=True)
        run.look()
        run.beat()
        run.progress.step = 8
        run.pass_time(3_600.0)

        assert not run.answers


def trained(step_seconds: float = 0.1, steps: int = 200) -> Run:
    """A run in the middle of its first epoch."""
    run = Run()
    run.look()
    run.enter(Phase.STARTING)
    run.steps([3.0, step_seconds])
    run.enter(Phase.TRAINING)
    run.steps([step_seconds] * steps)
    return run


def test_steps_of_a_millisecond_after_an_epoch_began_are_not_the_first():
    run = Run()
    run.enter(Phase.STARTING)
    run.pass_time(1.0, cpu=CORE)
    run.enter(Phase.TRAINING)
    run.steps([0.03] * 40)
    run.enter(Phase.BETWEEN_EPOCHS)
    run.enter(Phase.TRAINING)
    run.steps([0.001] * 5)
    run.pass_time(12.0)

    (stall,) = run.stalls
    assert stall.silent_seconds < 10


def test_the_first_step_of_an_epoch_may_fill_a_buffer():
    run = Run()
    run.enter(Phase.STARTING)
    run.pass_time(1.0, cpu=CORE)
    run.enter(Phase.TRAINING)
    run.steps([0.03] * 40)
    run.enter(Phase.BETWEEN_EPOCHS)
    run.enter(Phase.TRAINING)
    run.pass_time(12.0, cpu=CORE)

    assert not run.stalls


def test_forty_quick_steps_between_two_looks_tell_what_is_usual():
    run = Run()
    run.look()
    run.enter(Phase.STARTING)
    run.pass_time(3.0, cpu=CORE)
    run.steps([0.001, 0.001])
    run.enter(Phase.TRAINING)
    run.steps([0.002] * 40)
    run.pass_time(12.0, cpu=CORE)

    (stall,) = run.stalls
    assert stall.silent_seconds <= 10.0
    assert stall.phase == Phase.TRAINING


class TestItSpeaks:
    @pytest.mark.parametrize("step_seconds", [0.001, 0.1, 1.0, 2.0])
    def test_within_ten_seconds(self, step_seconds: float):
        run = trained(step_seconds, steps=int(20 / step_seconds))
        run.pass_time(10.0)

        (stall,) = run.stalls
        assert stall.usual_seconds == pytest.approx(step_seconds, rel=0.2, abs=0.01)
        assert stall.phase is Phase.TRAINING
        assert not stall.works

    @pytest.mark.parametrize("step_seconds", [4.0, 30.0, 300.0])
    def test_within_five_times_the_usual_gap(self, step_seconds: float):
        run = trained(step_seconds, steps=10)
        run.pass_time(4.0 * step_seconds)
        assert not run.stalls

        run.pass_time(1.0 * step_seconds)

        assert len(run.stalls) == 1

    def test_once(self):
        run = trained()
        run.pass_time(3_600.0)

        assert len(run.answers) == 1

    def test_when_it_goes_on_with_how_long_it_stood(self):
        run = trained()
        run.pass_time(43.0)
        run.beat()
        run.pass_time(1.0)

        stall, recovery = run.answers
        assert isinstance(recovery, Recovery)
        assert recovery.since == stall.since
        assert recovery.silent_seconds == pytest.approx(43.0, abs=0.1)

    def test_of_a_loop_that_computes_for_ever(self):
        run = trained()
        run.pass_time(10.0, cpu=CORE)

        (stall,) = run.stalls
        assert stall.works
        assert stall.cpu_fraction == pytest.approx(CORE)

    def test_of_a_validation_that_hangs(self):
        run = trained()
        run.enter(Phase.VALIDATION_STARTING)
        run.pass_time(1.5, cpu=CORE)
        run.enter(Phase.VALIDATION)
        run.batches([0.1] * 50)
        run.pass_time(10.0)

        assert run.stalls[0].phase is Phase.VALIDATION

    @pytest.mark.parametrize(
        "phase", [Phase.STARTING, Phase.VALIDATION_STARTING, Phase.BETWEEN_EPOCHS]
    )
    def test_where_nothing_is_usual_yet_once_nothing_works(self, phase: Phase):
        run = trained()
        run.enter(phase)
        run.pass_time(IDLE_SECONDS - 2.0)
        assert not run.stalls

        run.pass_time(4.0)

        assert run.stalls[0].phase is phase

    def test_of_a_first_step_that_never_comes(self):
        run = Run()
        run.look()
        run.enter(Phase.STARTING)
        run.pass_time(20.0, cpu=CORE)
        run.pass_time(IDLE_SECONDS + 1.0)

        assert len(run.stalls) == 1

    def test_sooner_between_epochs_once_their_length_is_known(self):
        run = trained()
        for _ in range(3):
            run.enter(Phase.BETWEEN_EPOCHS)
            run.pass_time(2.0, cpu=CORE)
            run.enter(Phase.TRAINING)
            run.steps([0.1] * 50)
        run.enter(Phase.BETWEEN_EPOCHS)
        run.pass_time(12.0)

        assert run.stalls[0].phase is Phase.BETWEEN_EPOCHS

    @pytest.mark.parametrize("phase", [Phase.TRAINING, Phase.BETWEEN_EPOCHS])
    def test_as_soon_where_epochs_are_too_short_to_be_seen(self, phase: Phase):
        run = trained()
        for _ in range(3):
            run.steps([0.1] * 15)
            run.enter(Phase.BETWEEN_EPOCHS)
            run.pass_time(0.05)
            run.enter(Phase.TRAINING)
            run.steps([0.1] * 15)
        run.enter(Phase.BETWEEN_EPOCHS)
        run.enter(phase)
        run.pass_time(12.0)

        assert run.stalls[0].phase is phase

    def test_as_soon_where_whole_epochs_pass_between_two_looks(self):
        run = Run()
        run.look()
        run.enter(Phase.TRAINING)
        for epoch in range(6):
            run.progress.epoch = float(epoch)
            run.steps([0.03] * 10)
            run.enter(Phase.BETWEEN_EPOCHS)
            if epoch < 5:
                run.enter(Phase.TRAINING)
        run.pass_time(12.0)

        assert run.stalls[0].phase is Phase.BETWEEN_EPOCHS

    def test_of_work_between_epochs_that_does_not_end(self):
        run = trained()
        run.enter(Phase.BETWEEN_EPOCHS)
        run.pass_time(2.0, cpu=CORE)
        run.enter(Phase.TRAINING)
        run.steps([0.1] * 50)
        run.enter(Phase.BETWEEN_EPOCHS)
        run.pass_time(ENDLESS_SECONDS + 2.0, cpu=CORE)

        assert len(run.stalls) == 1

    def test_again_after_an_excuse_that_did_not_come_true(self):
        run = trained()
        run.judge.report = run.judge.excuse  # type: ignore[method-assign]
        run.pass_time(300.0, cpu=CORE)

        # Ever more rarely: looking closer costs the trainer a signal.
        assert 2 <= len(run.stalls) <= 5

    def test_of_a_second_stall_as_soon_as_of_the_first(self):
        run = trained()
        run.pass_time(120.0)
        run.steps([0.1] * 100)
        run.pass_time(10.0)

        assert len(run.stalls) == 2

    def test_where_cpu_time_is_unknown(self):
        run = trained()
        run.cpu_seconds = None  # type: ignore[assignment]
        for _ in range(10):
            run.now += 1.0
            run.look()

        assert run.stalls[0].usual_seconds == pytest.approx(0.1, rel=0.2)


class TestItIsSilent:
    def test_while_nobody_trains(self):
        run = trained()
        run.enter(Phase.NOT_TRAINING)
        run.pass_time(86_400.0)

        assert not run.answers

    def test_about_a_first_step_that_compiles_for_half_an_hour(self):
        run = Run()
        run.look()
        run.enter(Phase.STARTING)
        run.pass_time(1_800.0, cpu=CORE)

        assert not run.answers

    def test_about_a_first_step_that_reads_a_large_file(self):
        run = Run()
        run.look()
        run.enter(Phase.STARTING)
        run.pass_time(300.0, cpu=0.01, moving=5e6)

        assert not run.answers

    def test_about_a_first_step_that_waits_a_little(self):
        run = Run()
        run.look()
        run.enter(Phase.STARTING)
        run.pass_time(IDLE_SECONDS - 2.0)
        run.steps([1.0])

        assert not run.answers

    def test_about_a_step_that_is_sometimes_four_times_slower(self):
        run = trained(3.0, steps=20)
        run.steps([3.0, 12.0, 3.0, 3.0, 12.0] * 5)

        assert not run.answers

    def test_about_steps_that_get_slower_and_slower(self):
        run = trained(1.0, steps=20)
        run.steps([1.1**n for n in range(60)])

        assert not run.answers

    def test_about_a_long_validation(self):
        run = trained()
        for _ in range(3):
            run.enter(Phase.VALIDATION_STARTING)
            run.pass_time(40.0, cpu=CORE)
            run.enter(Phase.VALIDATION)
            run.batches([3.0] * 100)
            run.enter(Phase.TRAINING)
            run.steps([0.1] * 50)

        assert not run.answers

    def test_about_the_first_batches_of_a_validation_much_slower_than_steps(self):
        run = trained(0.1)
        run.enter(Phase.VALIDATION_STARTING)
        run.pass_time(12.0, cpu=CORE)
        run.enter(Phase.VALIDATION)
        run.batches([12.0] * 4)

        assert not run.answers

    def test_about_a_checkpoint_that_is_written_between_epochs(self):
        run = trained()
        run.enter(Phase.BETWEEN_EPOCHS)
        run.pass_time(200.0, cpu=0.02, moving=20e6)

        assert not run.answers

    def test_about_work_at_the_end_of_the_tenth_epoch(self):
        """Something that is done rarely, and takes long when it is done."""
        run = trained()
        for seconds in [1.5] * 9 + [300.0]:
            run.enter(Phase.BETWEEN_EPOCHS)
            run.pass_time(seconds, cpu=CORE)
            run.enter(Phase.TRAINING)
            run.steps([0.1] * 50)

        assert not run.answers

    def test_about_an_idle_epoch_end_that_was_seen_before(self):
        run = trained()
        for _ in range(5):
            run.enter(Phase.BETWEEN_EPOCHS)
            run.pass_time(25.0)
            run.enter(Phase.TRAINING)
            run.steps([0.1] * 50)

        assert not run.answers

    def test_a_second_time_about_a_slow_epoch_end(self):
        run = trained()
        for _ in range(5):
            run.enter(Phase.BETWEEN_EPOCHS)
            run.pass_time(60.0)
            run.enter(Phase.TRAINING)
            run.steps([0.1] * 50)

        assert len(run.stalls) == 1

    def test_a_third_time_about_a_pause_in_an_epoch(self):
        run = trained()
        for _ in range(5):
            run.pass_time(40.0)
            run.steps([0.1] * 50)

        assert len(run.stalls) == 2

    def test_about_a_buffer_that_fills_again_in_the_next_epoch(self):
        run = trained()
        run.enter(Phase.BETWEEN_EPOCHS)
        run.enter(Phase.TRAINING)
        run.pass_time(90.0, cpu=2 * CORE)
        run.steps([0.1] * 50)

        assert not run.answers

    def test_about_what_was_excused(self):
        run = trained()
        run.judge.report = run.judge.excuse  # type: ignore[method-assign]
        run.pass_time(20.0, cpu=CORE)
        run.steps([0.1] * 50)

        assert not [one for one in run.answers if isinstance(one, Recovery)]

    def test_about_a_machine_that_slept(self):
        run = trained()
        run.pass_time(2.0)
        # The monotonic clock stands still meanwhile.
        run.suspended_seconds += 8 * 3_600.0
        run.pass_time(6.0)
        run.steps([0.1] * 50)

        assert run.answers == [Sleep(seconds=8 * 3_600.0)]

    def test_about_a_container_that_was_frozen_with_its_watcher(self):
        run = trained()
        run.now += 600.0
        run.pass_time(6.0)
        run.steps([0.1] * 50)

        assert not run.answers

    def test_about_slow_steps_before_anything_is_usual(self):
        run = Run()
        run.look()
        run.enter(Phase.TRAINING)
        run.steps([25.0] * 4, cpu=IDLE)

        assert not run.answers

    def test_about_two_clocks_that_differ_a_little(self):
        run = trained()
        for _ in range(100):
            run.suspended_seconds += 0.001
            run.steps([0.1])

        assert not run.answers


def test_an_excused_gap_does_not_make_it_patient():
    run = trained()
    report, run.judge.report = run.judge.report, run.judge.excuse  # type: ignore[method-assign]
    run.pass_time(25.0, cpu=CORE)
    run.steps([0.1] * 50)
    run.answers.clear()
    run.judge.report = report  # type: ignore[method-assign]

    run.pass_time(10.0)

    assert len(run.stalls) == 1


def test_a_process_that_was_stopped_does_not_make_it_patient():
    run = trained()
    run.judge.report = lambda: StallJudge.report(run.judge, teaches=False)  # type: ignore[method-assign]
    for _ in range(3):
        run.pass_time(600.0)
        run.steps([0.1] * 50)
    run.answers.clear()

    run.pass_time(10.0)

    assert len(run.stalls) == 1
