"""A loop of short fits is one training; stages are kept apart."""

from tb_health_plugin.diagnosis.joined import joined
from tb_health_plugin.diagnosis.learning import main_training
from tb_health_plugin.events import facts
from tests.diagnosis.rules.histories import (
    case_of,
    epochs,
    run_started,
    training_ended,
    training_started,
)


def fits(count: int, *, each: int = 1, models: int = 1) -> list[facts.Fact]:
    told: list[facts.Fact] = [run_started()]
    for number in range(count):
        first = number * each * 10
        told.append(
            training_started(
                number,
                training=number,
                step=first,
                model=f"model_{number % models}",
                settings={"loss": "mse"},
            )
        )
        told += epochs([1.0] * each, 10, at=number, training=number, first_step=first)
        told.append(training_ended(number + 0.9, first + 10 * each, training=number))
    return told


def test_fits_of_one_epoch_are_one_training():
    training = main_training(case_of(*fits(6)))

    assert training is not None
    assert [epoch.epoch for epoch in training.epochs] == [0, 1, 2, 3, 4, 5]
    assert training.steps == 60
    assert training.started.planned_epochs == 6


def test_longer_fits_are_stages():
    assert len(joined(case_of(*fits(3, each=4)).trainings)) == 3


def test_two_fits_stay_apart():
    assert len(joined(case_of(*fits(2)).trainings)) == 2


def test_two_models_that_take_turns_stay_apart():
    assert len(joined(case_of(*fits(8, models=2)).trainings)) == 8


def test_nothing_is_nothing():
    assert joined(()) == []
