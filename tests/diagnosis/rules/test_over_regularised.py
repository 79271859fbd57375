"""A penalty is too strong if nothing is learned under it; others stay."""

import dataclasses

import pytest

from tb_health_plugin.diagnosis.rules import not_learning
from tb_health_plugin.diagnosis.rules.over_regularised import RULE
from tb_health_plugin.diagnosis.verdict import Verdict
from tb_health_plugin.events import facts
from tests.diagnosis.rules.outcomes import found, labels, layer, numbers, training

THREE = {
    "loss": "sparse_categorical_crossentropy",
    "activation": "softmax",
    "units": 3,
    "target": labels({0.0: 11, 1.0: 11, 2.0: 10}),
}
CHANCE = {"loss": [80.0, 5.0, 1.2, 1.1, 1.1, 1.1], "accuracy": [0.34] * 6}
LEARNS = {"loss": [80.0, 5.0, 1.0, 0.8, 0.7, 0.6], "accuracy": [0.8] * 6}
KERNEL = facts.Variable(name="hidden/kernel", layer="hidden", size=400, trainable=True)


def hidden(**settings: str) -> facts.Layer:
    return layer("hidden", settings=settings)


def pressure(told: list[facts.Fact]) -> Verdict | None:
    """What presses, by whichever of the two rules tells of it."""
    little, nothing = found(RULE, told), found(not_learning.RULE, told)
    if nothing is None or nothing.detail != RULE.id:
        return little
    assert little is None
    return nothing


def test_a_penalty_under_which_little_is_learned():
    told = training(
        **THREE,
        hidden=[hidden(kernel_regularizer="L2(l2=3.0)")],
        metrics={"loss": [80.0, 5.0, 1.2, 1.1, 1.1, 1.1], "accuracy": [0.42] * 6},
    )

    verdict = found(RULE, told)

    assert verdict is not None
    assert verdict.headline.endswith("little was learned")
    assert found(not_learning.RULE, told) is None


def test_a_penalty_that_crushed_the_weights():
    told = training(
        **THREE,
        hidden=[hidden(kernel_regularizer="L2(l2=0.05)")],
        metrics=CHANCE,
        variables=(KERNEL,),
        looks=[{"weight_norms": (4.0,)}, {"weight_norms": (0.001,)}],
    )

    verdict = pressure(told)

    assert verdict is not None
    assert (verdict.id, verdict.confidence) == ("not_learning", "likely")
    assert verdict.because.endswith("the weights shrank to nothing.")
    assert verdict.headline.startswith("The L2 penalty of 0.05 is too strong")
    assert "from 4 to 0.001" in verdict.evidence[0].text
    assert verdict.place == {"layer": "hidden"}
    assert "not_learning" in verdict.explains


def test_a_size_that_cannot_be_fails_nothing():
    told = training(
        **THREE,
        hidden=[hidden(kernel_regularizer="L2(l2=0.05)")],
        metrics=CHANCE,
        variables=(dataclasses.replace(KERNEL, size=-5),),
        looks=[{"weight_norms": (4.0,)}, {"weight_norms": (0.001,)}],
    )

    pressure(told)


def test_one_look_at_the_end_is_enough_where_nothing_is_left():
    told = training(
        **THREE,
        hidden=[hidden(kernel_regularizer="L1")],
        metrics=CHANCE,
        variables=(KERNEL,),
        looks=[{"weight_norms": (0.001,)}],
    )

    verdict = pressure(told)

    assert verdict is not None
    assert verdict.headline.startswith("The L1 penalty is too strong")


@pytest.mark.parametrize(
    "told",
    [
        {"hidden": [hidden(kernel_regularizer="L2(l2=3.0)")]},
        {"hidden": [hidden(activity_regularizer="L1L2(l1=0.0, l2=1.0)")]},
        {"hidden": [layer("drop", "Dropout", settings={"rate": "0.95"})]},
        {"settings": {"optimizer": "AdamW", "optimizer.weight_decay": "2.0"}},
    ],
)
def test_settings_that_leave_no_doubt(told):
    verdict = pressure(training(**THREE, **told, metrics=CHANCE))

    assert verdict is not None
    assert verdict.confidence == "possible"
    assert verdict.because.endswith("Other reasons were not ruled out.")


def test_a_regression_under_a_penalty_that_gives_out_one_number():
    told = training(
        target=numbers(0.0, 2.0),
        hidden=[hidden(kernel_regularizer="L1(l1=1.0)")],
        metrics={"loss": [60.0, 30.0, 6.0, 5.0, 4.0]},
        looks=[{"output_stds": (float("nan"), 0.001)}],
    )

    assert pressure(told) is not None


class TestLeavesAlone:
    @pytest.mark.parametrize(
        "told",
        [
            {"hidden": [hidden(kernel_regularizer="L2(l2=3.0)")]},
            {"hidden": [layer("drop", "Dropout", settings={"rate": "0.95"})]},
        ],
    )
    def test_strong_settings_under_which_it_learns(self, told):
        assert pressure(training(**THREE, **told, metrics=LEARNS)) is None

    def test_usual_settings_where_something_else_is_wrong(self):
        told = training(
            **THREE,
            hidden=[
                hidden(kernel_regularizer="L2(l2=0.0001)"),
                layer("drop", "Dropout", settings={"rate": "0.5"}),
            ],
            metrics=CHANCE,
            settings={"optimizer.weight_decay": "0.004"},
            variables=(KERNEL,),
            looks=[{"weight_norms": (4.0,)}, {"weight_norms": (3.9,)}],
        )

        assert pressure(told) is None

    def test_a_run_without_any(self):
        assert pressure(training(**THREE, metrics=CHANCE)) is None

    def test_a_short_run(self):
        told = training(
            **THREE,
            hidden=[hidden(kernel_regularizer="L2(l2=3.0)")],
            metrics={"loss": [80.0, 5.0], "accuracy": [0.34, 0.34]},
        )

        assert pressure(told) is None

    def test_a_regularizer_that_shapes_but_does_not_shrink(self):
        told = training(
            **THREE,
            hidden=[hidden(kernel_regularizer="OrthogonalRegularizer(factor=1.0)")],
            metrics=CHANCE,
        )

        assert pressure(told) is None


# A layer may keep its factor to itself, and nobody may have looked at the end.
UNTOLD = hidden(kernel_regularizer="L1")
EARLY_LOOK = [{"weight_norms": (4.0,)}]


def test_a_penalty_that_outweighs_the_loss_needs_no_number():
    told = training(
        **THREE,
        hidden=[UNTOLD],
        metrics=CHANCE,
        variables=(KERNEL,),
        looks=EARLY_LOOK,
    )

    verdict = pressure(told)

    assert verdict is not None
    assert verdict.confidence == "possible"
    assert verdict.because.endswith("the penalty was most of the loss.")
    assert "began at 80" in verdict.evidence[0].text


@pytest.mark.parametrize(
    "told",
    [
        pytest.param(
            training(**THREE, hidden=[UNTOLD], metrics=LEARNS), id="but it learned"
        ),
        pytest.param(
            training(
                **THREE,
                hidden=[UNTOLD],
                metrics={
                    "loss": [1.4, 1.2, 1.1, 1.1, 1.1, 1.1],
                    "accuracy": [0.34] * 6,
                },
            ),
            id="a small part of the loss",
        ),
        pytest.param(
            training(**THREE, hidden=[hidden()], metrics=CHANCE), id="no penalty"
        ),
    ],
)
def test_a_loss_that_begins_high_is_not_enough(told):
    assert pressure(told) is None
