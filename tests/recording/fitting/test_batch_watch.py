"""Which batches are recorded, and what that may cost."""

import numpy as np
import pytest

from tb_health_plugin.recording.fitting import batch_watch
from tb_health_plugin.recording.fitting.batch_watch import BatchWatch
from tests.recording.fitting.fake_fit import fake_fit

BATCH = (np.zeros((4, 2)), np.arange(4))


class Clock:
    """Time that goes on by what a look costs, and when told."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return 1.7e9 + self.now


@pytest.fixture
def clock(monkeypatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(batch_watch, "time", made)
    return made


@pytest.fixture
def costs(monkeypatch, clock):
    """Lets each look cost so many seconds."""

    def set_cost(seconds: float) -> None:
        def fields_of(batch, *, thorough):
            clock.now += seconds
            return ()

        monkeypatch.setattr(batch_watch, "fields_of", fields_of)

    return set_cost


def test_a_batch_is_recorded_with_its_place():
    fit = fake_fit()
    fit.epoch = 3

    BatchWatch(fit).saw(BATCH, step=70, batch_number=10)

    (seen,) = fit.recorder.facts
    assert (seen.training, seen.epoch, seen.batch, seen.step) == (0, 3, 10, 70)
    assert [field.name for field in seen.fields] == ["x", "y"]
    assert fit.spent.recording_seconds > 0


def test_the_first_three_are_recorded_however_fast_they_come(clock):
    fit = fake_fit()
    watch = BatchWatch(fit)

    for step in range(10):
        watch.saw(BATCH, step, step)

    assert [seen.step for seen in fit.recorder.facts] == [0, 1, 2]


def test_later_ones_are_recorded_when_time_has_passed(clock):
    fit = fake_fit()
    watch = BatchWatch(fit)

    for step in range(10):
        watch.saw(BATCH, step, step)
        clock.now += 0.03

    assert [seen.step for seen in fit.recorder.facts] == [0, 1, 2, 4, 6, 8]


def test_all_looks_together_stay_inside_the_budget(clock, costs):
    costs(0.09)
    fit = fake_fit()
    watch = BatchWatch(fit)

    for step in range(10_000):
        watch.saw(BATCH, step, step)
        clock.now += 0.1

    elapsed = clock.now - 100.0
    spent = fit.spent.recording_seconds
    assert len(fit.recorder.facts) > 5
    assert spent <= 0.2 + 0.001 * elapsed


def test_a_day_of_fast_steps_does_not_fill_the_disk_with_looks(clock, costs):
    costs(0.0)
    fit = fake_fit()
    watch = BatchWatch(fit)

    for step in range(864_000):
        watch.saw(BATCH, step, step)
        clock.now += 0.1

    assert 1_000 < len(fit.recorder.facts) < 10_000


def test_a_look_that_costs_more_than_all_may_cost_is_not_repeated(clock, costs):
    costs(5.0)
    fit = fake_fit()
    watch = BatchWatch(fit)

    for step in range(100):
        watch.saw(BATCH, step, step)
        clock.now += 1.0

    assert len(fit.recorder.facts) == 1


def test_a_fault_ends_the_watch_and_nothing_else(monkeypatch):
    def fails(batch, *, thorough):
        raise RuntimeError("gone")

    monkeypatch.setattr(batch_watch, "fields_of", fails)
    fit = fake_fit()
    watch = BatchWatch(fit)

    for step in range(3):
        watch.saw(BATCH, step, step)

    assert fit.recorder.faults == [("what batches look like", "RuntimeError: gone")]


def test_a_huge_batch_is_sampled(monkeypatch):
    asked = []

    def fields_of(batch, *, thorough):
        asked.append(thorough)
        return ()

    monkeypatch.setattr(batch_watch, "fields_of", fields_of)
    # One number, shown as many: no memory is taken.
    huge = np.broadcast_to(np.float32(1), (1 << 14, 1 << 14))

    BatchWatch(fake_fit()).saw((huge,), 0, 0)
    BatchWatch(fake_fit()).saw(BATCH, 0, 0)

    assert asked == [False, True]
