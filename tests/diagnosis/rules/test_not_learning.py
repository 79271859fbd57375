"""Not learning means no better than ignoring the inputs, after a fair try."""

import dataclasses

import pytest

from tb_health_plugin.diagnosis.rules.not_learning import RULE
from tb_health_plugin.events import facts
from tests.diagnosis.rules.histories import ALIVE, ask
from tests.diagnosis.rules.outcomes import found, labels, layer, numbers, training

BINARY = {
    "loss": "binary_crossentropy",
    "activation": "sigmoid",
    "target": labels({0.0: 16, 1.0: 16}, (32, 1)),
}
THREE = {
    "loss": "sparse_categorical_crossentropy",
    "activation": "softmax",
    "units": 3,
    "target": labels({0.0: 11, 1.0: 11, 2.0: 10}),
}


def test_loss_and_accuracy_of_guessing():
    told = training(**THREE, metrics={"loss": [1.1] * 6, "accuracy": [0.34] * 6})

    verdict = found(RULE, told)

    assert verdict is not None
    assert (verdict.severity, verdict.confidence) == ("warning", "likely")
    assert verdict.headline == "Nothing learned in 6 epochs: accuracy 34.0% is chance"
    assert "gives 1.098" in verdict.evidence[0].text


def by_heart(*, val_loss: float = 1.12, val_accuracy: float = 0.34):
    return training(
        **THREE,
        metrics={
            "loss": [1.12, 1.1, 1.095, 1.09, 1.085, 1.08, 1.075, 1.07],
            "accuracy": [0.34, 0.36, 0.37, 0.38, 0.39, 0.4, 0.41, 0.42],
            "val_loss": [val_loss] * 8,
            "val_accuracy": [val_accuracy] * 8,
        },
    )


def test_what_is_learned_by_heart_and_holds_for_no_other_row():
    verdict = found(RULE, by_heart())

    assert verdict is not None
    assert (verdict.detail, verdict.confidence) == ("by_heart", "likely")
    assert "validation accuracy 34.0% is chance" in verdict.headline


def test_a_slow_start_that_holds_for_other_rows():
    assert found(RULE, by_heart(val_loss=1.0)) is None
    assert found(RULE, by_heart(val_accuracy=0.4)) is None


def test_one_hot_rows_have_a_chance_too():
    told = training(
        **{**THREE, "loss": "categorical_crossentropy"}
        | {"target": labels({0.0: 64, 1.0: 32}, (32, 3))},
        metrics={"loss": [1.1] * 6, "accuracy": [0.34] * 6},
    )

    assert found(RULE, told) is not None


def test_accuracy_alone_where_the_loss_holds_a_penalty():
    hidden = layer("hidden", settings={"kernel_regularizer": "L2(l2=3.0)"})
    told = training(
        **THREE,
        hidden=[hidden],
        metrics={"loss": [80.0, 5.0, 1.2, 1.1, 1.1], "accuracy": [0.6] + [0.34] * 4},
    )

    verdict = found(RULE, told)

    assert verdict is not None
    assert verdict.confidence == "possible"


def test_a_regression_that_gives_out_one_number():
    told = training(
        target=numbers(0.0, 2.0),
        metrics={"loss": [4.1] * 6},
        looks=[{"output_stds": (0.01,)}],
    )

    verdict = found(RULE, told)

    assert verdict is not None
    assert "the same for every row" in verdict.headline


def test_a_ranking_that_only_the_order_of_the_rows_gave():
    told = training(
        **BINARY,
        metrics={
            "loss": [0.6931] * 6,
            "accuracy": [0.5] * 6,
            "auc": [0.7] * 6,
            "val_auc": [0.5] * 6,
        },
    )

    assert found(RULE, told) is not None


@pytest.mark.parametrize(
    ("rows", "area"), [({0.0: 16, 1.0: 16}, 0.51), ({0.0: 8, 1.0: 24}, 0.76)]
)
def test_ranking_by_chance_helps_nothing(rows, area):
    # With 24 of 32 rows positive, precision and recall give 0.75 to any guess.
    level = 0.6931 if rows[0.0] == 16 else 0.5623
    told = training(
        **BINARY | {"target": labels(rows, (32, 1))},
        metrics={
            "loss": [level] * 6,
            "accuracy": [max(rows.values()) / 32] * 6,
            "auc": [area] * 6,
        },
    )

    assert found(RULE, told) is not None


class TestLeavesAlone:
    def test_a_run_that_learns(self):
        told = training(
            **THREE,
            metrics={"loss": [1.0, 0.8, 0.6, 0.5, 0.4], "accuracy": [0.5] * 5},
        )

        assert found(RULE, told) is None

    @pytest.mark.parametrize("epochs", [1, 2, 4])
    def test_a_short_run(self, epochs):
        metrics = {"loss": [1.1] * epochs, "accuracy": [0.34] * epochs}

        assert found(RULE, training(**THREE, metrics=metrics)) is None

    def test_few_steps_in_many_epochs(self):
        metrics = {"loss": [1.1] * 8, "accuracy": [0.34] * 8}

        assert found(RULE, training(**THREE, metrics=metrics, steps=4)) is None

    def test_a_loss_that_slowly_leaves_the_level_of_guessing(self):
        metrics = {
            "loss": [1.1, 1.09, 1.07, 1.05, 1.03, 1.0],
            "accuracy": [0.35, 0.36, 0.38, 0.4, 0.41, 0.43],
        }

        assert found(RULE, training(**THREE, metrics=metrics)) is None

    def test_a_regression_on_noisy_targets(self):
        told = training(
            target=numbers(0.0, 1.0),
            metrics={"loss": [1.02, 1.0, 0.99, 0.99, 0.98, 0.98]},
            looks=[{"output_stds": (0.12,)}],
        )

        assert found(RULE, told) is None

    def test_a_loss_near_the_spread_without_a_look_at_outputs(self):
        told = training(target=numbers(0.0, 1.0), metrics={"loss": [1.0] * 6})

        assert found(RULE, told) is None

    def test_a_skewed_accuracy_while_the_loss_improves(self):
        told = training(
            **BINARY | {"target": labels({0.0: 30, 1.0: 2}, (32, 1))},
            metrics={"loss": [0.3, 0.2, 0.18, 0.16, 0.15], "accuracy": [0.94] * 5},
        )

        assert found(RULE, told) is None

    def test_weights_on_classes_with_a_skewed_accuracy(self):
        told = training(
            **BINARY | {"target": labels({0.0: 30, 1.0: 2}, (32, 1))},
            settings={"class_weight": "given"},
            metrics={"loss": [0.9] * 6, "accuracy": [0.94] * 6},
        )

        assert found(RULE, told) is None

    @pytest.mark.parametrize("accuracy", [0.66, 0.78])
    def test_weights_on_classes_that_cost_accuracy(self, accuracy):
        told = training(
            **BINARY | {"target": labels({0.0: 25, 1.0: 7}, (32, 1))},
            settings={"class_weight": "given"},
            metrics={"loss": [0.7, 0.62, 0.6] * 3, "accuracy": [accuracy] * 9},
        )

        assert found(RULE, told) is None

    @pytest.mark.parametrize("name", ["auc", "AUC", "auc_1", "roc_auc"])
    def test_a_weak_signal_that_only_ranking_shows(self, name):
        told = training(
            **BINARY | {"target": labels({0.0: 30, 1.0: 2}, (32, 1))},
            metrics={
                "loss": [0.25, 0.235, 0.234, 0.233, 0.232, 0.232],
                "accuracy": [0.9375] * 6,
                name: [0.5, 0.6, 0.64, 0.65, 0.66, 0.66],
            },
            steps=200,
        )

        assert found(RULE, told) is None

    def test_a_loss_of_the_program(self):
        told = training(**THREE | {"loss": "info_nce"}, metrics={"loss": [1.1] * 9})

        assert found(RULE, told) is None

    def test_a_gan_without_a_loss(self):
        told = training(
            **THREE,
            metrics={"d_loss": [1.4] * 12, "g_loss": [0.7] * 12},
            settings={"train_step": "custom", "loss": ""},
        )

        assert found(RULE, told) is None

    def test_a_loss_that_rises_by_design_after_it_was_good(self):
        told = training(
            target=numbers(0.0, 3.0, shape=(32, 12)),
            units=12,
            metrics={"loss": [5.0, 2.0, 3.0, 5.0, 7.0, 9.5]},
        )

        assert found(RULE, told) is None

    def test_a_run_that_has_just_begun(self):
        told = training(**THREE, metrics={"loss": [1.1] * 6, "accuracy": [0.34] * 6})
        going_on = told[:-1]

        assert ask(RULE, *going_on, life=ALIVE) is None


class TestRowsThatWeighNothing:
    def judge(self, highest, losses):
        weight = dataclasses.replace(
            numbers(0.0, 0.0, shape=(32,), minimum=0.0, maximum=highest),
            name="sample_weight",
            role="weight",
        )
        told = [
            dataclasses.replace(one, fields=(*one.fields, weight))
            if isinstance(one, facts.BatchSeen)
            else one
            for one in training(**THREE, metrics={"loss": losses})
        ]
        return found(RULE, told)

    def test_all_of_them(self):
        verdict = self.judge(0.0, [0.0] * 4)

        assert (verdict.detail, verdict.severity) == ("no_weight", "critical")
        assert "sample weight of 0" in verdict.headline

    def test_some_of_them_are_masked(self):
        assert self.judge(1.0, [0.0] * 4) is None

    def test_in_the_batches_looked_at_only(self):
        assert self.judge(0.0, [0.3, 0.2, 0.1, 0.1]) is None
