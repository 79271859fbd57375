"""Looks stay within their share of the time."""

import time

from tb_health_plugin.recording.loops.budget import Budget, LookSchedule


def test_nothing_is_allowed_above_the_share():
    budget, now = Budget(0.01, free_seconds=0.0), time.perf_counter()

    assert budget.allows(now + 1.0)
    budget.spent = 0.5
    assert not budget.allows(now + 1.0)
    assert budget.allows(now + 51.0)


def test_looks_are_dense_at_first_and_rare_later():
    schedule, now = LookSchedule(), time.perf_counter()

    early = [step for step in range(1_000) if schedule.is_due(step, now + step / 1e3)]
    assert early == [0, 1, 3, 10, 30, 100, 300]
    # Steps of a millisecond, for ten hours, seen each second.
    late = [s for s in range(1_001, 36_000) if schedule.is_due(s * 1_000, now + s)]
    assert 100 < len(late) < 400


def test_dear_looks_are_rare_from_the_start():
    schedule, now = LookSchedule(), time.perf_counter()
    looks = 0
    for step in range(100):
        if schedule.is_due(step, now + step):
            looks += 1
            schedule.budget.spent += 0.5

    # A hundred seconds, of which a hundredth buys two.
    assert 2 <= looks <= 3
