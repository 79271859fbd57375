"""The loss of batches and parts of an epoch, from running means."""

import math

import numpy as np
import pytest

from tb_health_plugin.recording.fitting.losses import PARTS, Losses


def follow(batches, planned=None, *, every: int = 1) -> Losses:
    """Reports the running mean of the losses of `batches`, as Keras does."""
    losses = Losses(planned, is_running_mean=True)
    means = np.cumsum(batches) / np.arange(1, len(batches) + 1)
    for step in range(every, len(batches) + 1, every):
        losses.report(step, float(means[step - 1]))
    return losses


def test_few_batches_are_told_one_by_one():
    losses = follow([4.0, 2.0, 6.0], planned=3)

    assert losses.profile() == pytest.approx((4, 2, 6))
    assert (losses.lowest, losses.highest) == pytest.approx((2, 6))


def test_a_long_epoch_has_equal_parts():
    losses = follow([1.0] * 320 + [3.0] * 320, planned=640)

    assert losses.profile() == pytest.approx((1,) * 32 + (3,) * 32)


@pytest.mark.parametrize("steps", [1, 63, 64, 65, 128, 129, 1000, 5000])
def test_an_epoch_of_unknown_length_has_no_more_parts_than_that(steps: int):
    batches = np.linspace(5, 1, steps)

    profile = follow(batches).profile()

    assert 1 <= len(profile) <= PARTS
    assert list(profile) == sorted(profile, reverse=True)
    # Half of what it may have, at least.
    assert len(profile) >= min(steps, PARTS // 2)


def test_more_steps_than_planned_still_fit():
    assert len(follow(np.ones(1000), planned=10).profile()) <= PARTS


def test_one_report_for_several_steps():
    losses = follow([4.0, 2.0, 6.0, 8.0], planned=4, every=2)

    assert losses.profile() == pytest.approx((3, 7))


def test_reports_out_of_order_change_nothing():
    losses = Losses(4, is_running_mean=True)
    losses.report(2, 3.0)
    losses.report(1, 4.0)
    losses.report(4, 5.0)

    assert losses.profile() == pytest.approx((3, 7))


def test_after_a_loss_of_nan_the_rest_is_nan():
    losses = follow([2.0, 1.0, math.nan, 1.0], planned=4)

    assert losses.profile()[:2] == pytest.approx((2, 1))
    assert all(math.isnan(value) for value in losses.profile()[2:])
    assert (losses.lowest, losses.highest) == pytest.approx((1, 2))


def test_an_epoch_without_a_report():
    losses = Losses(None, is_running_mean=True)

    assert losses.profile() == ()
    assert losses.lowest is None


def test_rounding_does_not_pass_for_a_low_loss():
    # As 32-bit floats, the means of a million steps differ by more than one batch adds.
    losses = Losses(1_000_000, is_running_mean=True)
    for step in range(1, 1_000_001, 7):
        losses.report(step, float(np.float32(1.0 + 1e-3 / step)))

    assert losses.lowest == pytest.approx(1, abs=0.02)
    assert losses.highest == pytest.approx(1, abs=0.02)


def test_a_program_that_reports_each_batch():
    losses = Losses(3, is_running_mean=False)
    for step, loss in enumerate((4.0, 2.0, 6.0), 1):
        losses.report(step, loss)

    assert losses.profile() == pytest.approx((4, 2, 6))
