"""Whether a run learned is told beside what needs no training at all."""

import math

import pytest

from tb_health_plugin.diagnosis.learning import learning_of, main_training
from tests.diagnosis.rules.histories import case_of
from tests.diagnosis.rules.outcomes import labels, numbers, training

BINARY = {
    "loss": "binary_crossentropy",
    "activation": "sigmoid",
    "target": labels({0.0: 24, 1.0: 8}, (32, 1)),
}
SPARSE = {
    "loss": "sparse_categorical_crossentropy",
    "activation": "softmax",
    "units": 4,
}


def learning(**told):
    found = main_training(case_of(*training(**told)))
    assert found is not None
    return learning_of(found)


def test_the_trivial_loss_of_classes_is_the_entropy_of_their_shares():
    base = learning(**BINARY).baseline

    assert base is not None
    assert base.loss == pytest.approx(0.5623, abs=1e-4)
    assert base.accuracy == 0.75


def test_the_trivial_loss_of_a_regression_is_the_variance_of_all_batches():
    targets = [numbers(-1.0, 1.0), numbers(1.0, 1.0)]

    base = learning(target=targets).baseline

    assert base is not None
    assert base.loss == pytest.approx(2.0)


def test_many_classes_are_compared_with_guessing():
    target = numbers(500.0, 300.0, shape=(32,))

    base = learning(**SPARSE | {"units": 1_000}, target=target).baseline

    assert base is not None
    assert base.loss == pytest.approx(math.log(1_000))
    assert base.accuracy is None


@pytest.mark.parametrize(
    "told",
    [
        {"settings": {"class_weight": "given"}},
        {"loss": "BinaryCrossentropy(from_logits=False, label_smoothing=0.1)"},
        {"loss": "BinaryFocalCrossentropy(gamma=2.0)"},
    ],
)
def test_a_changed_loss_is_not_compared(told):
    base = learning(**BINARY | told).baseline

    assert base is not None
    assert base.loss is None


def test_a_loss_without_smoothing_is_compared():
    loss = "BinaryCrossentropy(from_logits=False, label_smoothing=0.0, axis=-1)"

    base = learning(**BINARY | {"loss": loss}).baseline

    assert base is not None
    assert base.loss is not None


def test_few_rows_are_no_baseline():
    assert learning(**BINARY, batches=2).baseline is None


@pytest.mark.parametrize(
    ("metrics", "state"),
    [
        ({"loss": [0.5, 0.4, 0.3], "accuracy": [0.8] * 3}, "yes"),
        ({"loss": [0.57] * 6, "accuracy": [0.75] * 6}, "no"),
        ({"loss": [0.57] * 2, "accuracy": [0.75] * 2}, "unknown"),
        ({"loss": [0.57, float("nan")]}, "lost"),
        ({"loss": [2.0, 1.5, 1.2, 1.0, 0.9]}, "slow"),
        ({}, "unknown"),
    ],
)
def test_states(metrics, state):
    assert learning(**BINARY, metrics=metrics).state == state


def test_an_accuracy_a_bit_above_chance_does_not_outweigh_a_terrible_loss():
    target = labels({0.0: 8, 1.0: 8, 2.0: 8, 3.0: 8})
    metrics = {"loss": [3.0, 3.5, 2.9, 3.3, 3.1], "accuracy": [0.4] * 5}

    assert learning(**SPARSE, target=target, metrics=metrics).state == "slow"


def test_a_weak_signal_that_grows_is_learning():
    target = labels({0.0: 16, 1.0: 16}, (32, 1))
    metrics = {
        "loss": [0.6931, 0.6929, 0.6927, 0.6925, 0.6922, 0.692],
        "accuracy": [0.5, 0.504, 0.508, 0.512, 0.516, 0.52],
    }

    found = learning(**BINARY | {"target": target}, metrics=metrics, steps=5_000)

    assert found.state == "slow"


def test_a_loss_that_keras_never_fed_comes_from_its_parts():
    found = learning(
        target=numbers(),
        metrics={"loss": [0.0, 0.0]},
        profiles=[[2.0, 1.0], [0.5, 0.5]],
    )

    assert found.losses == (1.5, 0.5)


def test_a_regression_that_gives_out_one_number_did_not_learn():
    told = {"target": numbers(0.0, 2.0), "metrics": {"loss": [3.6] * 6}}

    assert learning(**told, looks=[{"output_stds": (0.01,)}]).state == "no"
    assert learning(**told, looks=[{"output_stds": (0.5,)}]).state == "unknown"


def test_one_answer_for_all_that_gets_better_with_every_epoch_is_only_slow():
    one_answer = [{"output_stds": (0.01,)}]
    falls = [1.2, 1.15, 1.1, 1.05, 1.0, 0.95]
    stands = [1.2, 1.1, 1.02, 1.01, 1.005, 1.002]

    told = {"target": numbers(), "looks": one_answer}

    assert learning(**told, metrics={"loss": falls}).state == "slow"
    assert learning(**told, metrics={"loss": stands}).state == "no"
