"""Jumps of the clock and sleep of the machine."""

import time

import pytest

from tb_health_plugin.collectors.clock import Clock
from tb_health_plugin.collectors.collector import SourceUnavailable, Watched

WATCHED = Watched(pid=1)


def clock(*, wall: float, since_boot: float, awake: float) -> dict[str, float]:
    now = {
        time.CLOCK_REALTIME: wall,
        time.CLOCK_BOOTTIME: since_boot,
        time.CLOCK_MONOTONIC: awake,
    }
    return dict(Clock(WATCHED, read=now.__getitem__).collect())


def test_time_that_passes_changes_nothing():
    before = clock(wall=1000, since_boot=50, awake=40)
    after = clock(wall=1007, since_boot=57, awake=47)

    assert before == after == {"clock_offset_seconds": 950, "suspended_seconds": 10}


def test_a_clock_that_is_set_makes_a_step():
    set_back = clock(wall=1007 - 3600, since_boot=57, awake=47)

    assert set_back["clock_offset_seconds"] == 950 - 3600


def test_sleep_is_not_a_jump_of_the_clock():
    slept = clock(wall=1067, since_boot=117, awake=47)

    assert slept == {"clock_offset_seconds": 950, "suspended_seconds": 70}


def test_this_machine_has_not_slept_less_than_never():
    reading = Clock(WATCHED).collect()

    assert reading["suspended_seconds"] >= 0


def test_a_system_without_such_a_clock_is_no_error(monkeypatch):
    monkeypatch.delattr(time, "CLOCK_BOOTTIME")

    with pytest.raises(SourceUnavailable, match="Linux"):
        Clock(WATCHED)
