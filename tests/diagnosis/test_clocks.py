"""Clocks of several machines, compared by the steps finished together."""

import pytest

from tb_health_plugin.diagnosis.clocks import ahead
from tests.diagnosis.team import worker


def difference(first, second) -> float | None:
    return ahead([first, second])[second.id]


@pytest.mark.parametrize("seconds", [-3_600.0, -5.0, 7.5, 86_400.0])
def test_how_far_a_clock_is_off(seconds: float):
    first, second = worker(0, boot="a"), worker(1, boot="b", clock=seconds)

    assert difference(first, second) == pytest.approx(seconds, abs=0.6)


def test_what_samples_cannot_show_is_none():
    assert difference(worker(0, boot="a"), worker(1, boot="b", clock=0.7)) == 0.0


def test_one_machine_has_one_clock_whatever_its_workers_do():
    assert difference(worker(0), worker(1, rate=5.0)) == 0.0


def test_workers_that_do_not_go_in_step_tell_nothing():
    found = difference(worker(0, boot="a"), worker(1, boot="b", rate=5.0))

    assert found is None


def test_without_common_steps_nothing_is_told():
    assert difference(worker(0, boot="a"), worker(1, boot="b", seconds=1)) is None
