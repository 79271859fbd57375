"""A rate is too low if the weights cannot have moved; warm-ups and ends are fine."""

import dataclasses

from tb_health_plugin.diagnosis.rules.lr_too_low import RULE
from tb_health_plugin.events import facts
from tests.diagnosis.rules.outcomes import found, labels, numbers, training

THREE = {
    "loss": "sparse_categorical_crossentropy",
    "activation": "softmax",
    "units": 3,
    "target": labels({0.0: 11, 1.0: 11, 2.0: 10}),
    "variables": (
        facts.Variable(name="base", size=10_000, trainable=False),
        facts.Variable(name="head/kernel", size=400, trainable=True),
    ),
}
STANDS = {"loss": [1.2] * 8, "accuracy": [0.34] * 8}


BIAS = facts.Variable(name="head/bias", size=4, trainable=True)


def look(update: float, rate: float = 1e-7, gradient: float = 1.0, weight: float = 4.0):
    return {
        "update_norms": (float("nan"), update),
        "weight_norms": (100.0, weight),
        "gradient_norm": gradient,
        "learning_rate": rate,
    }


def test_weights_that_cannot_have_moved():
    told = training(
        **THREE,
        metrics=STANDS,
        settings={"optimizer": "SGD", "optimizer.learning_rate": "1e-07"},
        looks=[look(1e-7)] * 4,
    )

    verdict = found(RULE, told)

    assert verdict is not None
    assert (verdict.severity, verdict.confidence) == ("warning", "likely")
    assert verdict.headline.startswith("The learning rate of 1e-07 is too low")
    assert verdict.fixes[0].code == "keras.optimizers.SGD(learning_rate=0.01)"
    assert "not_learning" in verdict.explains


def test_a_rate_that_was_used_up_before_anything_was_learned():
    told = training(
        **THREE,
        metrics=STANDS,
        settings={"optimizer": "SGD", "optimizer.learning_rate": "0.001"},
        looks=[look(4e-4, 1e-4), look(2e-4, 5e-5), look(1e-9, 1e-10)],
    )

    verdict = found(RULE, told)

    assert verdict is not None
    assert verdict.detail == "decayed"
    assert verdict.headline.startswith("The learning rate fell to 1e-10")
    assert "CosineDecay(0.001, decay_steps=400)" in (verdict.fixes[0].code or "")


def test_a_rate_that_is_zero_from_the_beginning():
    told = training(
        **THREE,
        metrics=STANDS,
        settings={
            "optimizer": "SGD",
            "optimizer.learning_rate": "0.01",
            "callbacks": "LearningRateScheduler, History",
        },
        looks=[look(0.0, 0.0)] * 2,
    )

    verdict = found(RULE, told)

    assert verdict is not None
    assert (verdict.detail, verdict.confidence) == ("zero", "proven")
    texts = [one.text for one in verdict.evidence]
    assert "The optimizer was given 0.01; LearningRateScheduler changes it." in texts
    assert verdict.fixes[0].code == "lambda epoch: 0.01 * (8 - epoch) / 8"


def test_a_rate_that_is_zero_at_its_first_step_only():
    rising = training(
        **THREE,
        metrics=STANDS,
        settings={"optimizer": "SGD", "optimizer.learning_rate": "0.0"},
        looks=[look(0.0, 0.0), look(0.1, 0.01), look(0.2, 0.02)],
    )

    assert found(RULE, rising) is None


def loop_of(rates: list[float], losses: list[float]) -> list[facts.Fact]:
    """One that tells no epochs: a look every 100 steps, and how its loss went."""
    return training(
        **THREE,
        metrics={"loss": [sum(losses) / len(losses)]},
        settings={"optimizer": "Adam"},
        steps=100 * len(rates),
        looks=[look(0.01 * rate, rate) for rate in rates],
        profiles=[losses],
    )


def test_a_loop_whose_rate_was_used_up_in_a_moment():
    told = loop_of([0.01, 1e-4, 1e-8, 1e-12, 0.0, 0.0], [1.2, 1.1, 1.15, 1.12] * 2)

    verdict = found(RULE, told)

    assert verdict is not None
    assert verdict.headline.startswith("The learning rate fell to 0")
    assert "From step" in verdict.evidence[0].text


def test_a_loop_whose_rate_ends_at_nothing_or_that_learned_before():
    at_the_end = [0.01, 8e-3, 5e-3, 1e-3, 1e-7, 0.0]
    early = [0.01, 1e-4, 1e-8, 1e-12, 0.0, 0.0]

    assert found(RULE, loop_of(at_the_end, [1.2, 1.1, 1.15, 1.12] * 2)) is None
    assert found(RULE, loop_of(early, [1.2, 0.6, 0.3] + [0.2] * 5)) is None


def decaying(rates: list[float], metrics: dict[str, list[float]]) -> list[facts.Fact]:
    told = training(
        **THREE,
        metrics=metrics,
        settings={"optimizer": "SGD", "optimizer.learning_rate": str(rates[0])},
        looks=[look(4e-3, rates[0])] * 2,
    )
    by_epoch = iter(rates)
    return [
        dataclasses.replace(fact, learning_rate=next(by_epoch))
        if isinstance(fact, facts.EpochEnded)
        else fact
        for fact in told
    ]


SLOW = {"loss": [1.2, 1.08] + [1.07] * 6, "accuracy": [0.34, 0.4] + [0.42] * 6}
GONE = [0.001, 0.001, 1e-5, 1e-7, 1e-9, 1e-11, 1e-13, 1e-15]


def test_a_rate_that_fell_to_nothing_after_a_first_gain():
    verdict = found(RULE, decaying(GONE, SLOW))

    assert verdict is not None
    assert (
        verdict.headline == "The learning rate fell to 1e-15: the weights hardly move"
    )
    assert verdict.because.startswith("The rate fell to nothing")


def test_a_rate_that_falls_to_nothing_at_the_end_or_a_run_that_learned():
    late = [0.001] * 6 + [1e-6, 1e-9]
    good = {"loss": [1.0, 0.4] + [0.2] * 6, "accuracy": [0.6, 0.9] + [0.95] * 6}

    assert found(RULE, decaying(late, SLOW)) is None
    assert found(RULE, decaying(GONE, good)) is None


def test_gradients_alone_bound_the_updates():
    one = {
        "weight_norms": (100.0, 4.0),
        "gradient_norm": 1.0,
        "gradient_norms": (float("nan"), 1.0),
        "learning_rate": 1e-7,
    }
    told = training(**THREE, metrics=STANDS, looks=[one])

    assert found(RULE, told) is not None


def test_a_tiny_rate_without_a_look_at_weights():
    told = training(
        **THREE, metrics=STANDS, settings={"optimizer.learning_rate": "1e-08"}
    )

    verdict = found(RULE, told)

    assert verdict is not None
    assert verdict.confidence == "possible"


def biased(norm: float) -> dict[str, object]:
    """A look at a model whose bias has this norm."""
    one = look(1e-7)
    return one | {
        "update_norms": (*one["update_norms"], 1e-7),
        "weight_norms": (*one["weight_norms"], norm),
    }


def test_a_lucky_start_that_stands_still():
    told = training(
        **THREE | {"variables": (*THREE["variables"], BIAS)},
        metrics={"loss": [0.8] * 8, "accuracy": [0.7] * 8},
        looks=[biased(1e-5)] * 4,
        profiles=[[0.8] * 10] * 8,
    )

    verdict = found(RULE, told)

    assert verdict is not None
    assert verdict.confidence == "possible"


def test_a_regression_that_crawls():
    told = training(
        target=numbers(0.0, 2.2),
        metrics={"loss": [4.9 - n / 20 for n in range(8)]},
        variables=(*THREE["variables"], BIAS),
        looks=[biased(1e-5)] * 4,
    )

    verdict = found(RULE, told)

    assert verdict is not None
    assert verdict.confidence == "possible"


class TestLeavesAlone:
    def test_a_run_that_learns(self):
        metrics = {"loss": [1.0, 0.8, 0.6, 0.5, 0.4], "accuracy": [0.8] * 5}

        assert (
            found(RULE, training(**THREE, metrics=metrics, looks=[look(1e-7)])) is None
        )

    def test_weights_that_moved(self):
        told = training(**THREE, metrics=STANDS, looks=[look(4e-3, rate=1e-3)] * 4)

        assert found(RULE, told) is None

    def test_gradients_that_vanished(self):
        told = training(
            **THREE, metrics=STANDS, looks=[look(1e-10, rate=0.01, gradient=1e-8)] * 4
        )

        assert found(RULE, told) is None

    def test_frozen_weights(self):
        told = training(**THREE, metrics=STANDS, looks=[look(0.0, rate=0.001)] * 4)

        assert found(RULE, told) is None

    def test_a_warm_up(self):
        looks = [look(1e-8 * 10**n, rate=1e-8 * 10**n) for n in range(4)]

        assert found(RULE, training(**THREE, metrics=STANDS, looks=looks)) is None

    def test_a_settled_run_that_goes_on_with_a_decayed_rate(self):
        told = training(
            **THREE | {"variables": (*THREE["variables"], BIAS)},
            metrics={"loss": [0.8] * 8, "accuracy": [0.7] * 8},
            looks=[biased(1e-5)] * 4,
            profiles=[[0.8] * 10] * 8,
            initial_epoch=20,
        )

        assert found(RULE, told) is None

    def test_fine_tuning_of_a_model_that_arrived_before(self):
        told = training(
            **THREE | {"variables": (*THREE["variables"], BIAS)},
            metrics={"loss": [0.8] * 8, "accuracy": [0.7] * 8},
            looks=[biased(0.3)] * 4,
            profiles=[[0.8] * 10] * 8,
        )

        assert found(RULE, told) is None

    def test_fine_tuning_of_a_model_that_is_good(self):
        told = training(
            **THREE,
            metrics={"loss": [0.1] * 8, "accuracy": [0.97] * 8},
            looks=[look(1e-7)] * 4,
            profiles=[[0.1] * 10] * 8,
        )

        assert found(RULE, told) is None

    def test_a_short_run(self):
        metrics = {"loss": [1.1] * 2, "accuracy": [0.34] * 2}

        assert (
            found(RULE, training(**THREE, metrics=metrics, looks=[look(1e-9)])) is None
        )
