"""Stretches added up, and the first epoch left out where that is possible."""

import pytest

from tb_health_plugin.diagnosis.time_use import steady, whole
from tests.diagnosis.rules.histories import (
    case_of,
    epochs,
    time_spent,
    training_started,
)


def training(stretches, lengths=(), steps=10, settings=None):
    begun = training_started(settings=settings)
    told = [begun, *epochs(list(lengths), steps), *time_spent(stretches)]
    found = case_of(*told).training
    assert found is not None
    return found


def test_everything_is_added_up():
    use = whole(
        training(
            [
                {
                    "seconds": 5.0,
                    "steps": 10,
                    "wait_seconds": 1.0,
                    "step_seconds": 2.0,
                    "validation_seconds": 0.5,
                    "recording_seconds": 0.5,
                    "callback_seconds": {"A": 1.0},
                    "traces": 2,
                },
                {
                    "seconds": 5.0,
                    "steps": 20,
                    "wait_seconds": 1.0,
                    "callback_seconds": {"A": 0.5, "B": 0.1},
                },
            ],
            settings={"gpus": "1"},
        )
    )

    assert use.seconds == 9.0
    assert use.steps == 30
    assert use.waiting == 2.0
    assert use.stepping == 2.0
    assert use.callbacks == {"A": 1.5, "B": 0.1}
    assert use.traces == 2
    assert use.share(use.waiting) == pytest.approx(2 / 9)
    assert use.per_step(use.waiting) == pytest.approx(2 / 30)


def test_without_a_gpu_what_was_timed_is_all():
    stretch = {"seconds": 5.0, "steps": 9, "wait_seconds": 2.0, "step_seconds": 1.0}

    assert whole(training([stretch])).seconds == 3.0


def test_unless_most_of_the_time_went_elsewhere():
    stretch = {"seconds": 9.0, "steps": 9, "wait_seconds": 2.0, "step_seconds": 1.0}

    assert whole(training([stretch])).seconds == 9.0


def test_what_nobody_measured_is_not_zero():
    use = whole(training([{"seconds": 5.0, "steps": 10}]))

    assert use.waiting is None
    assert use.traces is None
    assert use.share(use.waiting) == 0.0


def test_a_training_without_stretches():
    use = whole(training([]))

    assert use.seconds == 0.0
    assert use.share(1.0) == 0.0
    assert use.per_step(1.0) == 0.0


def test_later_stretches_count_alone():
    first = {"seconds": 10.0, "steps": 10, "wait_seconds": 9.0}
    later = {"seconds": 5.0, "steps": 20, "wait_seconds": 0.5}

    use = steady(training([first, later], lengths=[10.0, 5.0]))

    assert use.waiting == 0.5
    assert use.seconds == 5.0


def test_waiting_is_spread_evenly_over_short_epochs():
    stretch = {"seconds": 4.0, "steps": 40, "wait_seconds": 2.0}

    use = steady(training([stretch], lengths=[1.0] * 4))

    assert use.seconds == pytest.approx(3.0)
    assert use.waiting == pytest.approx(1.5)


def test_waiting_that_does_not_fit_into_later_epochs_was_in_the_first():
    stretch = {"seconds": 4.3, "steps": 40, "wait_seconds": 3.5}

    use = steady(training([stretch], lengths=[4.0, 0.1, 0.1, 0.1]))

    assert use.waiting == 0.0


def test_one_epoch_is_all_there_is():
    stretch = {"seconds": 4.0, "steps": 40, "wait_seconds": 2.0}

    assert steady(training([stretch], lengths=[4.0])).waiting == 2.0


def test_what_we_record_does_not_count_in_short_epochs_either():
    first = {"seconds": 1.0, "steps": 10, "wait_seconds": 0.3}
    later = {
        "seconds": 1.5,
        "steps": 30,
        "wait_seconds": 0.9,
        "recording_seconds": 0.4,
    }

    use = steady(training([first, later], lengths=[1.0, 0.5, 0.5, 0.5]))

    assert use.seconds == pytest.approx(1.1)
    assert use.waiting == pytest.approx(0.9)


def test_stretches_that_end_with_epochs_count_alone_however_short():
    """Others took most of the time: what was timed of the later epochs is known."""
    first = {"seconds": 1.3, "steps": 10, "wait_seconds": 0.5, "step_seconds": 0.7}
    later = {"seconds": 3.2, "steps": 30, "wait_seconds": 1.2, "step_seconds": 0.4}

    use = steady(training([first, later], lengths=[1.3, 1.1, 1.1, 1.0]))

    assert use.share(use.waiting) == pytest.approx(0.75)
