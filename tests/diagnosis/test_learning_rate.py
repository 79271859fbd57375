"""The line that makes an optimizer: as it was, but for what is to change."""

from collections.abc import Mapping

import pytest

from tb_health_plugin.diagnosis import learning_rate
from tests.diagnosis.rules.histories import case_of, training_started


def line(settings: Mapping[str, str], *args: float, **changed: str) -> str:
    given = {f"optimizer.{name}": value for name, value in settings.items()}
    kind = given.pop("optimizer.kind", "Adam")
    case = case_of(training_started(settings={"optimizer": kind, **given}))
    assert case.training is not None
    return learning_rate.line(case.training, *args, **changed)


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({}, "keras.optimizers.Adam(learning_rate=0.01)"),
        (
            {"kind": "SGD", "momentum": "0.9", "nesterov": "True"},
            "keras.optimizers.SGD(learning_rate=0.01, momentum=0.9, nesterov=True)",
        ),
        (
            {"kind": "SGD", "momentum": "0.0", "nesterov": "False"},
            "keras.optimizers.SGD(learning_rate=0.01)",
        ),
        (
            {"weight_decay": "None", "clipnorm": "2.0", "beta_1": "<Schedule>"},
            "keras.optimizers.Adam(learning_rate=0.01, clipnorm=2.0)",
        ),
        ({"kind": "Mine"}, "Mine(learning_rate=0.01)"),
    ],
)
def test_what_somebody_chose_is_kept(settings: Mapping[str, str], code: str):
    assert line(settings, 0.01) == code


def test_what_changes_takes_the_place_of_what_was():
    settings = {"learning_rate": "0.002", "epsilon": "1e-05"}

    assert line(settings, epsilon="1e-4") == (
        "keras.optimizers.Adam(learning_rate=0.002, epsilon=1e-4)"
    )


def test_a_rate_that_nobody_knows_is_left_out():
    assert line({}, clipnorm="1.0") == "keras.optimizers.Adam(clipnorm=1.0)"
