"""Last layer, loss and targets must belong together; odd pairs that work are fine."""

from typing import Any, ClassVar

import pytest

from tb_health_plugin.diagnosis.rules.wrong_output_loss import RULE
from tb_health_plugin.events import facts
from tests.diagnosis.rules.outcomes import (
    found,
    is_alarm,
    labels,
    layer,
    numbers,
    training,
)

ZERO_ONE = labels({0.0: 16, 1.0: 16}, (32, 1))
CLASSES = labels({0.0: 10, 1.0: 11, 2.0: 11})


def test_a_softmax_over_one_unit():
    told = training(
        loss="binary_crossentropy",
        activation="softmax",
        target=ZERO_ONE,
        metrics={"loss": [0.7, 0.5, 0.4], "accuracy": [0.49, 0.49, 0.49]},
    )

    verdict = found(RULE, told)

    assert verdict is not None
    assert (verdict.detail, verdict.severity) == ("softmax_of_one", "critical")
    assert verdict.confidence == "proven"
    assert verdict.place == {"layer": "out"}
    assert "same in all 3 epochs" in verdict.evidence[1].text
    assert 'Dense(1, activation="sigmoid")' in (verdict.fixes[0].code or "")


def test_a_loss_for_classes_on_one_unit():
    told = training(
        loss="categorical_crossentropy",
        activation="sigmoid",
        target=ZERO_ONE,
        metrics={"loss": [0.0, 0.0], "accuracy": [0.5, 0.5]},
    )

    verdict = found(RULE, told)

    assert verdict is not None
    assert verdict.detail == "one_unit_for_classes"
    assert "no_gradient" in verdict.explains


def test_class_numbers_beside_probabilities():
    told = training(
        loss="mse",
        activation="softmax",
        units=3,
        target=labels({0.0: 10, 1.0: 11, 2.0: 11}, (32, 1)),
    )

    verdict = found(RULE, told)

    assert verdict is not None
    assert verdict.detail == "class_numbers"
    assert "sparse_categorical_crossentropy" in (verdict.fixes[0].code or "")


@pytest.mark.parametrize("activation", ["linear", "relu", "tanh"])
def test_raw_scores_read_as_probabilities(activation):
    told = training(
        loss="sparse_categorical_crossentropy",
        activation=activation,
        units=3,
        target=CLASSES,
        metrics={"loss": [8.0, 6.0, 5.0, 4.0, 3.0], "accuracy": [0.3] * 5},
        looks=[{"output_minimums": (-3.0,), "output_maximums": (4.0,)}],
    )

    verdict = found(RULE, told)

    assert verdict is not None
    assert verdict.detail == "scores_as_probabilities"
    assert (verdict.severity, verdict.confidence) == ("warning", "proven")
    assert "-3 to 4" in verdict.evidence[1].text


def two_heads(*, activation: str = "linear", losses: tuple[float, ...] = (2.5, 2.1)):
    """One output that is fine, and another."""
    fine = layer("broken", activation="sigmoid", units=1, is_output=True)
    return training(
        loss="broken: binary_crossentropy, kind: sparse_categorical_crossentropy",
        activation=activation,
        units=8,
        output={"name": "kind"},
        hidden=[fine],
        settings={"model": "Functional", "loss.from_logits": "False"},
        metrics={
            "loss": [*losses, *losses[-1:] * 4],
            "kind_loss": [*losses, *losses[-1:] * 4],
            "broken_loss": [0.5, 0.3, 0.2, 0.1, 0.1, 0.1],
        },
    )


def test_raw_scores_of_one_of_two_outputs():
    verdict = found(RULE, two_heads())

    assert verdict is not None
    assert (verdict.detail, verdict.confidence) == ("scores_as_probabilities", "likely")
    assert verdict.place == {"layer": "kind"}
    assert "guessing gives 2.079" in verdict.evidence[1].text


def test_two_outputs_that_belong_to_their_losses_or_learn():
    assert found(RULE, two_heads(activation="softmax")) is None
    assert found(RULE, two_heads(losses=(2.0, 0.4))) is None


def test_the_layer_that_was_seen_to_be_judged_in_a_model_of_the_programs_own():
    told = training(
        loss="binary_crossentropy",
        target=ZERO_ONE,
        metrics={"loss": [2.0, 0.8, 0.6, 0.5, 0.45], "accuracy": [0.7] * 5},
        hidden=[layer("score", activation="linear", units=1)],
        activation="sigmoid",
        settings={"model": "Net"},
        looks=[
            {
                "output_minimums": (-0.5, 0.0),
                "output_maximums": (1.5, 1.0),
                "judged_layer": 0,
            }
        ],
    )

    verdict = found(RULE, told)

    assert verdict is not None
    assert verdict.detail == "scores_as_probabilities"
    assert verdict.place == {"layer": "score"}


def test_a_loss_of_the_programs_own_without_a_lowest_value():
    losses = [-5.0, -9.0, -60.0, -2e3, -7e4, -3e7]

    verdict = found(RULE, training(loss="my_loss", metrics={"loss": losses}))

    assert verdict is not None
    assert (verdict.detail, verdict.severity) == ("no_bottom", "critical")
    assert verdict.fixes[0].code == (
        "model.compile(..., loss=lambda y, output: -my_loss(y, output))"
    )
    assert "lr_too_high" in verdict.explains


@pytest.mark.parametrize(
    "losses",
    [
        pytest.param([2.0, 0.5, -0.4, -1.1, -1.6, -1.9], id="a likelihood"),
        pytest.param(
            [-1.0, -400.0, -900.0, -1_200.0, -1_300.0, -1_350.0], id="settles"
        ),
        pytest.param([-3.0, 40.0, -2e4, 90.0, -5e3, -8e4], id="jumps about"),
        pytest.param([5.0, 9.0, 60.0, 2e3, 7e4, 3e7], id="rises"),
    ],
)
def test_other_losses_of_the_programs_own(losses):
    told = training(loss="my_loss", metrics={"loss": losses})

    assert found(RULE, told) is None


@pytest.mark.parametrize(
    ("activation", "target"),
    [
        ("relu", numbers(0.0, 1.0)),
        ("sigmoid", numbers(40.0, 10.0)),
        ("tanh", numbers(0.0, 5.0)),
        ("sigmoid", labels({-1.0: 16, 1.0: 16}, (32, 1))),
    ],
)
def test_targets_that_the_last_activation_cannot_reach(activation, target):
    verdict = found(RULE, training(activation=activation, target=target))

    assert verdict is not None
    assert verdict.detail == "out_of_reach"
    assert verdict.confidence == "proven"


OWN = {"train_step": "custom"}
STANDS = {"loss": [2_500.0] * 10}
FALLS = {"loss": [2_500.0 * 0.5**n for n in range(10)]}


def own_loop(target, metrics):
    """A loop with a loss that nobody knows."""
    told = training(
        loss="", activation="sigmoid", target=target, metrics=metrics, settings=OWN
    )
    return found(RULE, told)


def test_out_of_reach_in_a_loop_of_its_own():
    verdict = own_loop(numbers(50.0, 7.0), STANDS)

    assert verdict is not None
    assert (verdict.detail, verdict.confidence) == ("out_of_reach", "likely")


def test_other_numbers_in_a_batch_of_a_loop():
    assert own_loop(numbers(50.0, 7.0), FALLS) is None
    assert own_loop(numbers(0.5, 0.7), STANDS) is None
    assert own_loop(numbers(50.0, 7.0, shape=(32, 4)), STANDS) is None
    assert own_loop(labels({30.0: 16, 60.0: 16}, (32, 1)), STANDS) is None


def test_several_labels_per_row_are_a_hint_where_it_learns():
    target = labels({0.0: 80, 1.0: 80}, (32, 5))
    told = training(
        loss="categorical_crossentropy", activation="softmax", units=5, target=target
    )

    verdict = found(RULE, told)

    assert verdict is not None
    assert (verdict.detail, verdict.severity) == ("several_labels", "info")


class TestLeavesAlone:
    @pytest.mark.parametrize(
        ("loss", "activation", "units", "target"),
        [
            ("binary_crossentropy", "sigmoid", 1, ZERO_ONE),
            ("sparse_categorical_crossentropy", "softmax", 3, CLASSES),
            ("BinaryCrossentropy(from_logits=True)", "linear", 1, ZERO_ONE),
            # Keras finds the logits behind these itself, and warns.
            ("BinaryCrossentropy(from_logits=True)", "sigmoid", 1, ZERO_ONE),
            ("mse", "linear", 1, numbers(0.0, 1.0)),
            ("mse", "tanh", 1, numbers(0.5, 0.15)),
            ("mse", "relu", 1, numbers(5.0, 1.0)),
            ("mse", "sigmoid", 1, ZERO_ONE),
            ("binary_crossentropy", "softmax", 3, labels({0.0: 64, 1.0: 32}, (32, 3))),
            (
                "categorical_crossentropy",
                "sigmoid",
                3,
                labels({0.0: 64, 1.0: 32}, (32, 3)),
            ),
        ],
    )
    def test_pairs_that_work(self, loss, activation, units, target):
        told = training(
            loss=loss,
            activation=activation,
            units=units,
            target=target,
            metrics={"loss": [0.9, 0.5, 0.3, 0.2, 0.1]},
        )

        assert found(RULE, told) is None

    def test_raw_scores_that_became_probabilities(self):
        told = training(
            loss="binary_crossentropy",
            target=ZERO_ONE,
            metrics={"loss": [1.0, 0.6, 0.3, 0.2, 0.1], "accuracy": [0.9] * 5},
        )

        assert found(RULE, told) is None

    def test_raw_scores_with_a_good_loss_for_all_that(self):
        told = training(
            loss="binary_crossentropy",
            target=ZERO_ONE,
            metrics={"loss": [1.0, 0.6, 0.3, 0.15, 0.1], "accuracy": [0.97] * 5},
            looks=[{"output_minimums": (-0.2,), "output_maximums": (1.1,)}],
        )

        assert found(RULE, told) is None

    def test_a_few_targets_beyond_the_range(self):
        target = numbers(0.5, 0.2, minimum=-0.1, maximum=1.3)

        assert found(RULE, training(activation="sigmoid", target=target)) is None

    def test_an_activation_of_the_program(self):
        told = training(
            activation="relu", target=numbers(0.0, 1.0), output={"is_custom": True}
        )

        assert found(RULE, told) is None

    def test_a_layer_that_is_only_the_one_made_last(self):
        told = training(
            activation="softmax", target=ZERO_ONE, settings={"model": "Attention"}
        )

        assert found(RULE, told) is None

    def test_scores_that_the_program_makes_probabilities_of_itself(self):
        told = training(
            loss="binary_crossentropy",
            target=ZERO_ONE,
            metrics={"loss": [2.0, 0.8, 0.6, 0.5, 0.45], "accuracy": [0.7] * 5},
            settings={"model": "Net"},
            looks=[{"output_minimums": (-0.5,), "output_maximums": (1.5,)}],
        )

        assert found(RULE, told) is None

    def test_a_step_of_the_program(self):
        told = training(
            loss="categorical_crossentropy",
            activation="sigmoid",
            target=ZERO_ONE,
            settings={"train_step": "custom"},
        )

        assert found(RULE, told) is None

    def test_several_outputs(self):
        from tests.diagnosis.rules.outcomes import layer

        other = layer("other", activation="softmax", units=1, is_output=True)
        told = training(activation="softmax", target=ZERO_ONE, hidden=[other])

        assert not is_alarm(RULE, told)


class TestProbabilitiesAsScores:
    WARNED = facts.ProgramSaid(
        wall_time=1.0,
        step=0,
        message='"`categorical_crossentropy` received `from_logits=True`, but the '
        "`output` argument was produced by a Softmax activation and thus does not "
        'represent logits. Was this intended?"',
    )
    SEEN = ({"output_minimums": (0.03,), "output_maximums": (0.79,)},)
    LOSSES = (1.1, 1.0, 0.9, 0.85, 0.8, 0.78)

    def told(self, **more: Any) -> list[facts.Fact]:
        given = {
            "loss": "CategoricalCrossentropy(from_logits=True)",
            "activation": "",
            "units": 3,
            "output": {"kind": "Lambda"},
            "settings": {"loss.from_logits": "True"},
            "looks": self.SEEN,
            "metrics": {"loss": self.LOSSES},
        }
        return training(**{**given, **more})

    def test_a_softmax_inside_a_layer_of_the_programs_own(self):
        verdict = found(RULE, self.told())

        assert verdict is not None
        assert verdict.detail == "probabilities_as_scores"
        assert (verdict.severity, verdict.confidence) == ("warning", "likely")
        assert "0.551" in verdict.evidence[1].text
        assert verdict.fixes[0].code == "from_logits=False"

    @pytest.mark.parametrize(
        "more",
        [
            pytest.param({"activation": "softmax", "output": {}}, id="seen through"),
            pytest.param({"output": {"kind": "Softmax"}}, id="its layer"),
            pytest.param(
                {"metrics": {"loss": (1.1, 0.8, 0.6, 0.4, 0.3, 0.2)}},
                id="below the floor",
            ),
            pytest.param({"more": [WARNED]}, id="Keras undid it"),
            pytest.param({"activation": "linear", "output": {}}, id="a plain layer"),
            pytest.param(
                {"looks": ({"output_minimums": (0.0,), "output_maximums": (0.0,)},)},
                id="scores that begin at 0",
            ),
            pytest.param(
                {"looks": ({"output_minimums": (-3.0,), "output_maximums": (2.0,)},)},
                id="scores",
            ),
        ],
    )
    def test_leaves_alone(self, more: dict[str, Any]):
        assert found(RULE, self.told(**more)) is None


class TestClassesTrainedAsOneNumber:
    CLASSES: ClassVar = {0.0: 8, 1.0: 8, 2.0: 8, 3.0: 8}

    def judge(self, counts=CLASSES, accuracy=0.2, **more):
        more.setdefault("metrics", {"loss": [2.0, 1.0], "accuracy": [accuracy] * 2})
        return found(RULE, training(target=labels(counts, (32,)), **more))

    @pytest.mark.parametrize("activation", ["linear", "relu"])
    def test_with_an_accuracy(self, activation):
        verdict = self.judge(activation=activation)

        assert (verdict.detail, verdict.severity) == ("one_number", "warning")
        assert verdict.headline == (
            "4 classes are trained as one number, so that accuracy says nothing"
        )
        assert "keras.layers.Dense(4" in verdict.fixes[0].code

    def test_without_an_accuracy_it_may_be_a_rating(self):
        assert self.judge(metrics={"loss": [2.0, 1.0], "mae": [1.0, 0.5]}) is None

    def test_an_accuracy_that_is_good(self):
        assert self.judge(accuracy=0.95) is None

    def test_two_classes(self):
        assert self.judge({0.0: 16, 1.0: 16}) is None

    def test_numbers_with_gaps(self):
        assert self.judge({0.0: 8, 5.0: 8, 10.0: 8, 60.0: 8}) is None

    def test_a_unit_for_each(self):
        verdict = self.judge(
            loss="sparse_categorical_crossentropy", activation="softmax", units=4
        )

        assert verdict is None
