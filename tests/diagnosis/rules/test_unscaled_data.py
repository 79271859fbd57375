"""Data is off scale only if it is far off and the run did not learn either."""

import dataclasses

import pytest

from tb_health_plugin.diagnosis.rules.unscaled_data import RULE
from tb_health_plugin.events import facts
from tests.diagnosis.rules.outcomes import (
    INPUTS,
    found,
    labels,
    layer,
    numbers,
    training,
)

BINARY = {
    "loss": "binary_crossentropy",
    "activation": "sigmoid",
    "target": labels({0.0: 16, 1.0: 16}, (32, 1)),
}
CHANCE = {"loss": [0.7] * 6, "accuracy": [0.51] * 6}
LEARNS = {"loss": [0.6, 0.4, 0.3, 0.2, 0.15], "accuracy": [0.9] * 5}
PIXELS = numbers(128.0, 70.0, role="input", shape=(32, 784), minimum=0.0, maximum=255.0)


def test_pixels_that_were_never_scaled():
    verdict = found(RULE, training(**BINARY, inputs=PIXELS, metrics=CHANCE))

    assert verdict is not None
    assert (verdict.detail, verdict.severity) == ("features", "critical")
    assert verdict.place == {"field": "x"}
    assert "/ 255" in (verdict.fixes[0].code or "")
    assert "lr_too_high" in verdict.explains


LARGE = numbers(5e4, 6e4, role="input", shape=(32, 3), minimum=0.0, maximum=5e5)


def half_deaf(*, saturated: float = 1.0, zeros: float = 1.0, inputs=LARGE):
    """Learns from what comes in another way."""
    variables = (
        facts.Variable(name="first/kernel", layer="first", size=96, trainable=True),
        facts.Variable(name="out/kernel", layer="out", size=32, trainable=True),
    )
    return training(
        **BINARY,
        inputs=inputs,
        metrics=LEARNS,
        hidden=[layer("first", activation="tanh")],
        variables=variables,
        looks=[
            {
                "gradient_zero_fractions": (zeros, 0.0),
                "output_saturated_fractions": (saturated, 0.0),
            }
        ],
    )


def test_a_layer_that_hears_nothing_while_others_learn():
    verdict = found(RULE, half_deaf())

    assert verdict is not None
    assert (verdict.detail, verdict.severity) == ("features", "warning")
    assert verdict.headline.endswith("first hears nothing of them")
    assert verdict.place == {"field": "x", "layer": "first"}


def test_layers_that_hear_something_and_inputs_of_usual_size():
    assert found(RULE, half_deaf(saturated=0.9)) is None
    assert found(RULE, half_deaf(zeros=0.5)) is None
    assert found(RULE, half_deaf(inputs=INPUTS)) is None


def test_features_of_very_different_size():
    unequal = numbers(
        role="input",
        shape=(32, 10),
        std=5.0,
        highest_feature_std=16.0,
        lowest_feature_std=0.001,
    )

    verdict = found(RULE, training(**BINARY, inputs=unequal, metrics=CHANCE))

    assert verdict is not None
    assert "16,000-fold" in verdict.headline


def test_prices_as_targets():
    told = training(
        target=numbers(2e5, 5e4),
        metrics={"loss": [4.26e10, 4.26e10, 4.25e10, 4.25e10, 4.24e10]},
    )

    verdict = found(RULE, told)

    assert verdict is not None
    assert verdict.detail == "targets"
    assert verdict.fixes[0].code == "y = (y - 200000) / 50000"


def test_a_loss_that_was_driven_to_infinity():
    inf = float("inf")
    told = training(target=numbers(2e5, 5e4), metrics={"loss": [float("nan")] * 3})
    told.append(
        facts.FirstBadNumber(
            wall_time=1.0, training=0, losses_before=(4e10, 4e12, 4e16, inf)
        )
    )

    assert found(RULE, told) is not None


def test_pixels_for_a_loss_of_probabilities():
    told = training(
        loss="binary_crossentropy",
        activation="sigmoid",
        units=784,
        target=numbers(128.0, 70.0, shape=(32, 784), minimum=0.0, maximum=255.0),
        metrics={"loss": [-70.0, -500.0]},
    )

    verdict = found(RULE, told)

    assert verdict is not None
    assert (verdict.detail, verdict.severity) == ("targets", "warning")


def test_large_features_beside_those_that_are_looked_up():
    table = {"hidden": [layer("names", "Embedding")], "metrics": CHANCE}
    places = dataclasses.replace(PIXELS, whole_numbers=True)

    assert found(RULE, training(**BINARY, inputs=places, **table)) is None
    assert found(RULE, training(**BINARY, inputs=PIXELS, **table)) is not None


class TestLeavesAlone:
    def test_pixels_from_which_it_learns(self):
        assert found(RULE, training(**BINARY, inputs=PIXELS, metrics=LEARNS)) is None

    def test_scaled_data_from_which_it_does_not_learn(self):
        assert found(RULE, training(**BINARY, metrics=CHANCE)) is None

    @pytest.mark.parametrize(
        "kind", ["Rescaling", "Normalization", "BatchNormalization"]
    )
    def test_a_model_that_scales_its_inputs(self, kind):
        told = training(
            **BINARY, inputs=PIXELS, hidden=[layer("first", kind)], metrics=CHANCE
        )

        assert found(RULE, told) is None

    def test_large_targets_that_are_learned(self):
        told = training(
            target=numbers(500.0, 200.0), metrics={"loss": [3e5, 4e4, 1e4, 5e3, 2e3]}
        )

        assert found(RULE, told) is None

    def test_a_short_run(self):
        told = training(
            **BINARY, inputs=PIXELS, metrics={"loss": [0.7, 0.7], "accuracy": [0.5] * 2}
        )

        assert found(RULE, told) is None

    def test_a_nan_that_struck_while_all_was_normal(self):
        told = training(**BINARY, inputs=PIXELS, metrics={"loss": [0.5, float("nan")]})
        told.append(
            facts.FirstBadNumber(
                wall_time=1.0, training=0, losses_before=(0.5, 0.6, 0.5)
            )
        )

        assert found(RULE, told) is None

    def test_nan_in_the_data(self):
        bad = numbers(128.0, 70.0, role="input", shape=(32, 784))
        broken = facts.Field(
            name="x", role="input", shape=(32, 784), nonfinite_count=3, mean=1.0
        )
        told = training(**BINARY, inputs=bad, metrics={"loss": [float("nan")] * 3})
        told.append(facts.BatchSeen(wall_time=1.0, training=0, fields=(broken,)))
        told.append(
            facts.FirstBadNumber(wall_time=1.0, training=0, losses_before=(0.5, 50.0))
        )

        assert found(RULE, told) is None


class TestConstantFeatures:
    def zeros(self, value=0.0, **more):
        return numbers(
            value,
            0.0,
            role="input",
            shape=(32, 10, 10),
            minimum=value,
            maximum=value,
            **more,
        )

    def test_nothing_but_zeros(self):
        verdict = found(RULE, training(**BINARY, inputs=self.zeros(), metrics=CHANCE))

        assert (verdict.detail, verdict.severity) == ("constant", "critical")
        assert verdict.headline == (
            "Every feature is 0 in every row: there is nothing to learn from"
        )
        assert {"dead_relu", "not_learning"} <= set(verdict.explains)

    def test_a_constant_input_of_a_model_that_learns(self):
        told = training(**BINARY, inputs=self.zeros(1.0), metrics=LEARNS)

        assert found(RULE, told) is None

    def test_one_of_two_inputs(self):
        fields = (dataclasses.replace(self.zeros(), name="mask"), INPUTS)
        told = training(**BINARY, inputs=fields[0], metrics=CHANCE)
        told = [
            dataclasses.replace(one, fields=(*one.fields, fields[1]))
            if isinstance(one, facts.BatchSeen)
            else one
            for one in told
        ]

        assert found(RULE, told) is None

    def test_too_few_rows(self):
        told = training(**BINARY, inputs=self.zeros(), metrics=CHANCE, batches=2)

        assert found(RULE, told) is None


class TestThrownUpAndFallenBack:
    def judge(self, losses, inputs=PIXELS):
        metrics = {"loss": losses, "accuracy": [0.5] * len(losses)}
        return found(RULE, training(**BINARY, inputs=inputs, metrics=metrics, steps=30))

    def test_a_short_run_that_is_left_with_one_answer(self):
        verdict = self.judge([900.0, 0.6936, 0.6932, 0.6932, 0.6931])

        assert verdict is not None
        assert verdict.detail == "features"

    def test_a_short_run_that_was_never_thrown_up(self):
        assert self.judge([3.0, 0.6936, 0.6932, 0.6932, 0.6931]) is None

    def test_a_short_run_that_goes_on_down(self):
        assert self.judge([900.0, 9.0, 0.9, 0.69, 0.6]) is None

    def test_the_same_on_scaled_data(self):
        losses = [900.0, 0.6936, 0.6932, 0.6932, 0.6931]

        assert self.judge(losses, inputs=INPUTS) is None
