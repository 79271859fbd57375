"""Sorted batches are a problem where they harm; balanced and series ones are not."""

import pytest

from tb_health_plugin.diagnosis.rules.unshuffled_data import RULE
from tests.diagnosis.rules.outcomes import found, labels, numbers, training

SIX = {
    "loss": "sparse_categorical_crossentropy",
    "activation": "softmax",
    "units": 6,
    "batches": 12,
    "steps": 300,
}
SORTED = [labels({float(n): 16}) for n in range(6)]
MIXED = [labels({0.0: 3, 1.0: 3, 2.0: 2, 3.0: 3, 4.0: 3, 5.0: 2})] * 6
BEHIND = {
    "loss": [1.4] * 6,
    "accuracy": [0.65] * 6,
    "val_loss": [5.0] * 6,
    "val_accuracy": [0.2] * 6,
}
ALIKE = {
    "loss": [0.9] * 6,
    "accuracy": [0.65] * 6,
    "val_loss": [0.9] * 6,
    "val_accuracy": [0.64] * 6,
}
PEAKS = [[0.1] * 8 + [4.0] + [0.1] * 8 + [4.0] + [0.1] * 8] * 6


def test_one_class_after_the_other():
    verdict = found(RULE, training(**SIX, target=SORTED, metrics=BEHIND))

    assert verdict is not None
    assert (verdict.severity, verdict.confidence) == ("warning", "likely")
    assert "batches hold 1 class where chance gives 5.7" in verdict.headline
    assert "overfitting" in verdict.explains


def test_the_loss_peaks_where_the_class_changes():
    told = training(**SIX, target=SORTED, metrics={"loss": [1.4] * 6}, profiles=PEAKS)

    verdict = found(RULE, told)

    assert verdict is not None
    assert "same places of every epoch" in verdict.evidence[1].text


def test_one_hot_rows_of_one_class():
    field = labels({0.0: 80, 1.0: 16}, (16, 6))
    pure = type(field)(
        **{
            name: getattr(field, name)
            for name in field.__dataclass_fields__
            if name not in ("features", "constant_features")
        },
        features=6,
        constant_features=6,
    )
    told = training(
        **SIX | {"loss": "categorical_crossentropy"}, target=pure, metrics=BEHIND
    )

    assert found(RULE, told) is not None


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"data.kind": "tf.data", "data.examples": "4800"}, "dataset.shuffle(4800)"),
        ({"data.kind": "arrays", "shuffle": "False"}, "shuffle=True"),
        ({"data.kind": "generator"}, "np.random.permutation"),
    ],
)
def test_the_fix_is_for_the_kind_of_data(settings, code):
    told = training(**SIX, target=SORTED, metrics=BEHIND, settings=settings)

    verdict = found(RULE, told)

    assert verdict is not None
    assert code in (verdict.fixes[0].code or "")


def test_targets_sorted_by_size_with_both_signs():
    ramp = [numbers(float(n), 0.3) for n in range(12)]
    told = training(
        target=ramp,
        batches=12,
        steps=300,
        metrics={"loss": [0.5] * 6, "val_loss": [9.0] * 6},
        profiles=PEAKS,
    )

    verdict = found(RULE, told)

    assert verdict is not None
    assert "rank correlation" in verdict.evidence[0].text


def test_validation_that_holds_only_classes_training_never_saw():
    told = training(
        **SIX,
        target=labels({0.0: 8, 1.0: 8, 2.0: 8, 3.0: 8}),
        metrics={**BEHIND, "val_accuracy": [0.01] * 6},
        settings={"validation_split": "0.2"},
    )

    verdict = found(RULE, told)

    assert verdict is not None
    assert verdict.detail == "validation_split"


class TestLeavesAlone:
    def test_mixed_batches(self):
        assert found(RULE, training(**SIX, target=MIXED, metrics=BEHIND)) is None

    def test_sorted_batches_that_do_no_harm(self):
        assert found(RULE, training(**SIX, target=SORTED, metrics=ALIKE)) is None

    def test_small_batches(self):
        few = [labels({float(n % 6): 4}) for n in range(12)]

        assert found(RULE, training(**SIX, target=few, metrics=BEHIND)) is None

    def test_a_look_at_the_first_batches_only(self):
        told = training(**SIX | {"batches": 3}, target=SORTED[:2], metrics=BEHIND)

        assert found(RULE, told) is None

    def test_a_series_that_is_in_order_on_purpose(self):
        ramp = [numbers(float(n), 0.3) for n in range(12)]
        told = training(
            target=ramp,
            batches=12,
            steps=300,
            metrics={"loss": [0.5] * 6, "val_loss": [0.6] * 6},
            profiles=PEAKS,
        )

        assert found(RULE, told) is None

    def test_overfitting_with_a_validation_split(self):
        told = training(
            **SIX,
            target=MIXED,
            metrics={**BEHIND, "val_accuracy": [0.3] * 6},
            settings={"validation_split": "0.2"},
        )

        assert found(RULE, told) is None

    def test_several_targets(self):
        told = training(**SIX, target=SORTED, metrics=BEHIND)
        told = [fact for fact in told if type(fact).__name__ != "BatchSeen"]

        assert found(RULE, told) is None
