"""Labels must be coded as the loss reads them; odd but fine ones are left alone."""

from typing import ClassVar

import pytest

from tb_health_plugin.diagnosis.rules.label_problem import RULE
from tests.diagnosis.rules.histories import training_ended
from tests.diagnosis.rules.outcomes import found, is_alarm, labels, numbers, training

BINARY = {"loss": "binary_crossentropy", "activation": "sigmoid"}
SPARSE = {
    "loss": "sparse_categorical_crossentropy",
    "activation": "softmax",
    "units": 10,
}


@pytest.mark.parametrize(
    ("counts", "code"),
    [
        ({1.0: 16, 2.0: 16}, 'y = (y == 2).astype("float32")'),
        ({-1.0: 10, 1.0: 22}, 'y = (y == 1).astype("float32")'),
        ({0.0: 30, 255.0: 2}, 'y = (y == 255).astype("float32")'),
    ],
)
def test_two_labels_that_are_not_zero_and_one(counts, code):
    told = training(
        **BINARY,
        target=labels(counts, (32, 1)),
        metrics={"loss": [0.4, -1.0, -3.0], "accuracy": [0.5, 0.5, 0.5]},
    )

    verdict = found(RULE, told)

    assert verdict is not None
    assert (verdict.detail, verdict.severity) == ("out_of_range", "critical")
    assert verdict.confidence == "proven"
    assert "below 0, to -3" in verdict.evidence[1].text
    assert verdict.fixes[0].code == code


def test_more_than_two_labels_need_more_units():
    told = training(**BINARY, target=labels({0.0: 10, 1.0: 10, 2.0: 12}, (32, 1)))

    verdict = found(RULE, told)

    assert verdict is not None
    assert "Dense(3" in (verdict.fixes[0].code or "")


def test_class_numbers_that_were_scaled():
    told = training(
        **SPARSE, target=labels({0.0: 10, 1 / 255: 10, 9 / 255: 12}), metrics={}
    )

    verdict = found(RULE, told)

    assert verdict is not None
    assert verdict.detail == "fractions"
    assert "all of them become 0" in verdict.evidence[0].text
    assert "overfitting" in verdict.explains


@pytest.mark.parametrize("counts", [{1.0: 16, 10.0: 16}, {-1.0: 4, 3.0: 28}])
def test_class_numbers_without_a_unit(counts):
    assert is_alarm(RULE, training(**SPARSE, target=labels(counts)))


def test_a_step_that_failed_on_a_label_says_it_itself():
    message = (
        "Received a label value of 3 which is outside the valid range of [0, 3). "
        "Label values: 3 1"
    )
    ended = training_ended(
        1, 0, reason="raised", exception="InvalidArgumentError", message=message
    )

    verdict = found(RULE, training(**SPARSE, more=[ended]))

    assert verdict is not None
    assert verdict.headline == "Label 3 has no output: the last layer has 3 units"
    assert "code_error" in verdict.explains


def test_one_label_all_over_the_epoch():
    told = training(
        **SPARSE, target=labels({0.0: 32}), metrics={"loss": [0.1], "accuracy": [1.0]}
    )

    verdict = found(RULE, told)

    assert verdict is not None
    assert (verdict.detail, verdict.severity) == ("constant", "warning")


def test_one_label_in_few_rows_may_be_the_common_one():
    told = training(
        **SPARSE, target=labels({0.0: 25}), metrics={"loss": [0.1], "accuracy": [0.98]}
    )

    assert found(RULE, told) is None


def test_one_label_at_the_beginning_of_an_epoch_is_sorted_data_perhaps():
    told = training(**SPARSE, target=labels({0.0: 32}), batches=3)

    assert found(RULE, told) is None


def test_a_loop_may_train_on_one_label_on_purpose():
    told = training(**BINARY, target=labels({1.0: 32}, (32, 1)), loop="loop")

    assert found(RULE, told) is None


def test_accuracy_that_is_only_the_share_of_the_largest_class():
    told = training(
        **BINARY,
        target=labels({0.0: 31, 1.0: 1}, (32, 1)),
        metrics={"loss": [0.15] * 8, "accuracy": [0.969] * 8},
    )

    verdict = found(RULE, told)

    assert verdict is not None
    assert verdict.detail == "imbalanced"
    assert verdict.fixes[1].code == "model.fit(..., class_weight={0: 1, 1: 31})"


def test_rare_ones_of_many_classes_are_counted_where_they_are_whole():
    told = training(
        loss="sparse_categorical_crossentropy",
        activation="softmax",
        units=3,
        target=labels({0.0: 62, 1.0: 1, 2.0: 1}),
        metrics={"loss": [0.16] * 8, "accuracy": [0.969] * 8},
    )

    verdict = found(RULE, told)

    assert verdict is not None
    assert verdict.detail == "imbalanced"
    assert "np.bincount(y)" in (verdict.fixes[1].code or "")


RARE = {
    "loss": "binary_crossentropy",
    "activation": "sigmoid",
    "target": labels({0.0: 31, 1.0: 1}, (32, 1)),
}
FALLING = [0.7, 0.5, 0.4, 0.3, 0.25, 0.2]


def test_one_answer_for_all_rows_while_the_loss_still_falls():
    told = training(
        **RARE,
        metrics={
            "loss": FALLING,
            "accuracy": [0.6, 0.95, 0.97, 0.97, 0.97, 0.97],
            "recall": [0.0] * 6,
        },
    )

    verdict = found(RULE, told)

    assert verdict is not None
    assert verdict.detail == "imbalanced"


class TestLeavesAlone:
    @pytest.mark.parametrize(
        "metrics",
        [
            {"accuracy": [0.6, 0.95, 0.96, 0.968, 0.97, 0.971]},
            {"accuracy": [0.6, 0.95, 0.97, 0.97, 0.97, 0.97], "auc": [0.7] * 6},
            {"accuracy": [0.97] * 6, "loss": [0.7, 0.3, 0.1, 0.05, 0.04, 0.03]},
        ],
    )
    def test_rare_classes_that_it_begins_to_find(self, metrics):
        told = training(**RARE, metrics={"loss": FALLING, **metrics})

        assert found(RULE, told) is None

    def test_zeros_and_ones(self):
        told = training(**BINARY, target=labels({0.0: 16, 1.0: 16}, (32, 1)))

        assert found(RULE, told) is None

    def test_soft_labels(self):
        told = training(**BINARY, target=labels({0.05: 16, 0.95: 16}, (32, 1)))

        assert found(RULE, told) is None

    def test_images_that_resizing_led_a_little_beyond_one(self):
        target = numbers(0.5, 0.2, minimum=-0.02, maximum=1.03)

        assert found(RULE, training(**BINARY, target=target)) is None

    def test_whole_class_numbers_given_as_floats(self):
        told = training(**SPARSE, target=labels({0.0: 10, 9.0: 22}))

        assert found(RULE, told) is None

    def test_a_label_that_the_loss_was_told_to_ignore(self):
        loss = "SparseCategoricalCrossentropy(from_logits=False, ignore_class=255)"
        told = training(**{**SPARSE, "loss": loss}, target=labels({0.0: 10, 255.0: 22}))

        assert found(RULE, told) is None

    def test_minus_one_and_one_for_a_hinge_loss(self):
        told = training(loss="hinge", target=labels({-1.0: 16, 1.0: 16}, (32, 1)))

        assert found(RULE, told) is None

    @pytest.mark.parametrize(
        "metrics",
        [
            {"loss": [0.1, 0.02], "accuracy": [0.99, 0.997]},
            {"loss": [0.1, 0.02], "recall_1": [0.0, 0.2]},
            {"loss": [0.1, 0.02], "auc": [0.5, 0.8]},
        ],
    )
    def test_a_class_too_rare_to_be_in_the_batches_that_were_looked_at(self, metrics):
        told = training(
            loss="binary_crossentropy",
            activation="sigmoid",
            target=labels({0.0: 32}, (32, 1)),
            metrics=metrics,
        )

        assert found(RULE, told) is None

    def test_rare_classes_that_were_learned(self):
        told = training(
            **BINARY,
            target=labels({0.0: 31, 1.0: 1}, (32, 1)),
            metrics={"loss": [0.15, 0.1, 0.08] * 3, "accuracy": [0.969] * 9},
        )

        assert found(RULE, told) is None

    def test_rare_classes_with_weights(self):
        told = training(
            **BINARY,
            target=labels({0.0: 31, 1.0: 1}, (32, 1)),
            metrics={"loss": [0.7] * 9, "accuracy": [0.969] * 9},
            settings={"class_weight": "given"},
        )

        assert found(RULE, told) is None

    def test_a_model_without_known_outputs(self):
        told = training(**BINARY, target=labels({1.0: 16, 2.0: 16}), hidden=())
        told[1:2] = []

        assert found(RULE, told) is None


class TestRowsWithoutAClass:
    ONE_HOT: ClassVar = {
        "loss": "categorical_crossentropy",
        "activation": "softmax",
        "units": 4,
    }

    def judge(self, counts, losses):
        target = labels(counts, (8, 4))
        return found(
            RULE, training(**self.ONE_HOT, target=target, metrics={"loss": losses})
        )

    def test_nothing_but_zeros_and_a_loss_of_nothing(self):
        verdict = self.judge({0.0: 32}, [0.0] * 4)

        assert (verdict.detail, verdict.severity) == ("no_class", "critical")
        assert verdict.headline == (
            "The labels name no class: every row is 0, and so is the loss"
        )

    def test_a_class_in_every_row(self):
        assert self.judge({0.0: 24, 1.0: 8}, [0.0] * 4) is None

    def test_zeros_in_the_batches_looked_at_only(self):
        # Batches from all over the epoch: that they are all 0 is told, not more.
        assert self.judge({0.0: 32}, [0.02, 0.01, 0.01, 0.01]).detail == "constant"

    def test_rows_of_one_class_have_no_column(self):
        target = labels({0.0: 416, 1.0: 96}, (128, 4))
        told = training(**self.ONE_HOT, target=target, metrics={"loss": [0.5, 0.1]})

        verdict = found(RULE, told)

        assert verdict is not None
        assert (verdict.detail, verdict.severity) == ("no_class", "warning")
        assert verdict.headline.startswith("About 25% of the rows name no class")

    def test_a_few_rows_left_out(self):
        target = labels({0.0: 387, 1.0: 125}, (128, 4))
        told = training(**self.ONE_HOT, target=target, metrics={"loss": [0.5, 0.1]})

        assert found(RULE, told) is None
