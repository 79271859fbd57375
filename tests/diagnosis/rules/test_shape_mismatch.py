"""Shapes that were broadcast without a word; shapes that Keras mends are fine."""

import pytest

from tb_health_plugin.diagnosis.rules.shape_mismatch import RULE
from tests.diagnosis.rules.outcomes import found, labels, layer, numbers, training

OWN_STEP = {"train_step": "custom", "loss": ""}
VARIANCE = {"loss": [4.1] * 6}


@pytest.mark.parametrize("loss", ["mse", "mae", "Huber(delta=1.0)"])
@pytest.mark.parametrize(("width", "units"), [(1, 4), (3, 1)])
def test_one_number_beside_many(loss, width, units):
    told = training(loss=loss, units=units, target=numbers(shape=(32, width)))

    verdict = found(RULE, told)

    assert verdict is not None
    assert (verdict.severity, verdict.confidence) == ("warning", "proven")
    assert verdict.fixes[0].code == f"keras.layers.Dense({width})"


def test_every_row_compared_with_every_other():
    told = training(
        target=numbers(0.0, 2.0, shape=(32,)),
        settings=OWN_STEP,
        metrics=VARIANCE,
        looks=[{"output_stds": (0.05,)}] * 2,
    )

    verdict = found(RULE, told)

    assert verdict is not None
    assert verdict.confidence == "possible"
    assert "(32,)" in verdict.headline


def test_a_comparison_that_was_seen_is_proven():
    told = training(
        target=numbers(0.0, 2.0, shape=(32,)),
        settings={**OWN_STEP, "loss.stretched": "(32, 1) and (32,)"},
    )

    verdict = found(RULE, told)

    assert verdict is not None
    assert verdict.confidence == "proven"
    assert verdict.headline.startswith("Outputs (32, 1) and targets (32,) are compared")
    assert verdict.place == {"field": "y"}


def test_every_step_of_a_sequence_compared_with_one_target():
    lstm = layer("lstm", "LSTM", settings={"return_sequences": "True"})

    verdict = found(RULE, training(target=numbers(), hidden=[lstm]))

    assert verdict is not None
    assert verdict.place["layer"] == "lstm"


def test_a_loss_that_stands_at_the_variance_where_outputs_were_seen_early():
    told = training(
        target=numbers(0.0, 2.0, shape=(32,)),
        settings=OWN_STEP,
        metrics={"loss": [0.0] * 6},
        profiles=[[4.1, 4.0, 4.1]] * 6,
        looks=[{"output_stds": (0.3,)}] * 2,
    )

    assert found(RULE, told) is not None


class TestLeavesAlone:
    def test_noisy_targets_of_which_a_little_is_predicted(self):
        told = training(
            target=numbers(0.0, 2.0, shape=(32,)),
            settings=OWN_STEP,
            metrics=VARIANCE,
            looks=[{"output_stds": (0.2,)}] * 6,
        )

        assert found(RULE, told) is None

    @pytest.mark.parametrize(("width", "units"), [(1, 1), (4, 4)])
    def test_equal_widths(self, width, units):
        told = training(units=units, target=numbers(shape=(32, width)))

        assert found(RULE, told) is None

    def test_what_keras_brings_together_itself(self):
        told = training(
            target=numbers(0.0, 2.0, shape=(32,)),
            metrics=VARIANCE,
            looks=[{"output_stds": (0.05,)}] * 2,
        )

        assert found(RULE, told) is None

    def test_a_step_of_the_program_that_learns(self):
        told = training(
            target=numbers(0.0, 2.0, shape=(32,)),
            settings=OWN_STEP,
            metrics={"loss": [4.0, 2.0, 1.0, 0.5, 0.3]},
            looks=[{"output_stds": (1.9,)}] * 2,
        )

        assert found(RULE, told) is None

    def test_class_numbers_are_the_business_of_another_rule(self):
        target = labels({0.0: 10, 1.0: 11, 2.0: 11}, (32, 1))

        assert (
            found(RULE, training(activation="softmax", units=3, target=target)) is None
        )

    def test_classes_with_a_cross_entropy(self):
        told = training(
            loss="sparse_categorical_crossentropy",
            activation="softmax",
            units=10,
            target=labels({0.0: 10, 9.0: 22}, (32, 1)),
        )

        assert found(RULE, told) is None

    def test_a_sequence_that_is_flattened_before_the_output(self):
        lstm = layer("lstm", "LSTM", settings={"return_sequences": "True"})

        told = training(target=numbers(), hidden=[lstm, layer("flat", "Flatten")])

        assert found(RULE, told) is None

    def test_a_model_whose_last_layer_is_not_known(self):
        told = training(units=4, target=numbers(), settings={"model": "MyModel"})

        assert found(RULE, told) is None
