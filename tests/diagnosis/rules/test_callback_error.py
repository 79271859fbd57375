"""Callbacks that wait for a metric that is not there."""

import pytest

from tb_health_plugin.diagnosis.rules.callback_error import RULE
from tb_health_plugin.diagnosis.verdict import Verdict
from tb_health_plugin.events import facts
from tests.diagnosis.rules.histories import (
    START,
    ask,
    epochs,
    run_started,
    training_ended,
    training_started,
)

EARLY = (
    "Early stopping conditioned on metric `val_accuracy` which is not available. "
    "Available metrics are: loss"
)


def found(message: str, *metrics: dict[str, float], **settings: str) -> Verdict | None:
    told = [
        run_started(),
        training_started(planned_epochs=3, settings=settings),
        facts.ProgramSaid(
            wall_time=START + 1, step=10, logger="warnings", message=message
        ),
        *epochs([1.0] * len(metrics), 10, metrics=metrics),
        training_ended(9.0, 10 * len(metrics), epochs=len(metrics)),
    ]
    outcome = ask(RULE, *told)
    assert outcome is None or isinstance(outcome, Verdict)
    return outcome


@pytest.mark.parametrize(
    ("message", "headline"),
    [
        (EARLY, "EarlyStopping never stops: there is no metric val_accuracy"),
        (
            "Learning rate reduction is conditioned on metric `val_loss` which is not "
            "available. Available metrics are: loss,learning_rate.",
            "ReduceLROnPlateau never lowers the learning rate: there is no metric "
            "val_loss",
        ),
        (
            "Can save best model only with val_acc available, skipping.",
            "ModelCheckpoint never saves a model: there is no metric val_acc",
        ),
    ],
)
def test_a_metric_that_never_comes(message: str, headline: str):
    verdict = found(message, {"loss": 1.0}, {"loss": 0.9})

    assert (verdict.severity, verdict.detail) == ("warning", "metric_missing")
    assert verdict.headline == headline
    assert verdict.fixes[0].code == "validation_split=0.2"


def test_another_name_is_offered():
    verdict = found(EARLY, {"val_acc": 0.5, "val_loss": 1.0}, {"val_acc": 0.5})

    assert verdict.fixes[0].code == 'monitor="val_acc"'


def test_a_metric_that_comes_later_is_there():
    assert not found(EARLY, {"loss": 1.0}, {"loss": 0.9, "val_accuracy": 0.7})


def test_validation_every_few_epochs_has_it_later():
    assert not found(EARLY, {"loss": 1.0}, {"loss": 0.9}, validation_freq="5")


@pytest.mark.parametrize(
    "message",
    [
        "Your input ran out of data; interrupting training.",
        "The metric `val_accuracy` is not available on this plan",
        "",
    ],
)
def test_other_warnings(message: str):
    assert not found(message, {"loss": 1.0}, {"loss": 0.9})


def test_an_exception_in_a_callback_is_told_by_the_end_itself():
    told = [
        run_started(),
        training_started(planned_epochs=3),
        facts.ProgramSaid(wall_time=START + 1, message=EARLY),
        *epochs([1.0], 10),
        training_ended(
            9.0,
            10,
            reason="raised",
            exception="KeyError",
            during="callback",
            callback="Mine",
        ),
    ]

    assert ask(RULE, *told) is None
