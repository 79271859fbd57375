"""When to look, without a training."""

import math

import pytest

from tb_health_plugin.recording.fitting import allowance
from tb_health_plugin.recording.fitting.allowance import Allowance, allowance_of
from tb_health_plugin.recording.fitting.look_schedule import (
    DANGER_LOOKS,
    FIRST_LOOKS,
    LookSchedule,
)


class Clock:
    now = 100.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(allowance, "time", made)
    return made


@pytest.fixture
def made(clock) -> Allowance:
    made = Allowance()
    made.open()
    return made


def test_some_time_is_there_at_once_and_then_a_small_share(made, clock):
    assert made.missing(0.4) <= 0
    made.spend(0.4)
    assert made.missing(0.06) == pytest.approx(20.0)
    clock.now += 20.1
    assert made.missing(0.06) <= 0


def test_in_danger_the_share_is_larger(made):
    made.spend(0.4)
    assert made.missing(0.06, times=5) == pytest.approx(4.0)


def test_calling_fit_again_and_again_gives_no_fixed_time_each(made, clock):
    made.spend(0.4)
    clock.now += 2
    made.close()
    made.open()
    # A share of all time, and a twentieth of the call before.
    assert made.missing(0.105) <= 0 < made.missing(0.107)


def test_all_trainings_of_a_recording_share():
    class Recorder:
        pass

    one, other = Recorder(), Recorder()
    assert allowance_of(one) is allowance_of(one)
    assert allowance_of(one) is not allowance_of(other)


def test_first_looks_are_planned_and_later_ones_are_a_second_apart(made):
    schedule, seen = LookSchedule(made), []
    while schedule.due < 1000:
        step = schedule.due
        seen.append(step)
        assert schedule.may_look(step, 0.0, 0.01)
        schedule.looked(step, 0.01 * step, 0.01, 1.0)

    assert tuple(seen[: len(FIRST_LOOKS)]) == FIRST_LOOKS
    assert seen[len(FIRST_LOOKS) :] == list(range(200, 1000, 100))


def test_a_look_that_costs_too_much_waits(made):
    schedule = LookSchedule(made)

    assert not schedule.may_look(1, 0.5199, 0.1)
    # Twenty seconds are missing at twice the share, at ten steps a second.
    assert schedule.due == 1 + 200


def test_a_loss_ten_times_the_lowest_is_an_alarm_once(made):
    schedule = LookSchedule(made)
    schedule.looked(100, 1.0, 0.01, 1.0)
    schedule.saw_loss(101, 2.0)
    assert schedule.due > 101

    schedule.saw_loss(110, 21.0)
    assert schedule.due == 110
    for step in range(110, 110 + DANGER_LOOKS - 1):
        schedule.looked(step, 1.0, 0.01, 1.0)
        assert schedule.due == step + 1
    schedule.looked(129, 1.0, 0.01, 1.0)
    assert schedule.due > 130
    assert schedule.alarm_above == 210


def test_a_loss_below_zero_is_never_an_alarm(made):
    schedule = LookSchedule(made)
    schedule.saw_loss(1, -3.0)
    assert schedule.alarm_above == math.inf


def test_a_gradient_ten_times_the_last_is_an_alarm(made):
    schedule = LookSchedule(made)
    schedule.looked(200, 1.0, 0.01, 1.0)
    assert schedule.due > 201
    schedule.looked(300, 1.0, 0.01, 11.0)
    assert schedule.due == 301
