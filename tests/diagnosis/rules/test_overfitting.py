"""Overfitting is a lasting rise of validation loss; what is undone or mild is none."""

import pytest

from tb_health_plugin.diagnosis.rules.overfitting import RULE
from tb_health_plugin.events import facts
from tests.diagnosis.rules.outcomes import (
    found,
    is_alarm,
    labels,
    layer,
    numbers,
    training,
)

FALLS = [0.7, 0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002]
TURNS = [0.7, 0.62, 0.6, 0.68, 0.75, 0.85, 0.95, 1.1, 1.2, 1.3]


def run(val_loss, loss=FALLS, **more):
    metrics = {"loss": loss, "val_loss": val_loss, **more.pop("metrics", {})}
    return training(metrics=metrics, **more)


def saved(step: int) -> facts.Saved:
    return facts.Saved(wall_time=1.0, step=step, training=0, callback="ModelCheckpoint")


def test_validation_that_turned_while_training_improved():
    verdict = found(RULE, run(TURNS))

    assert verdict is not None
    assert (verdict.severity, verdict.detail) == ("warning", "past_best")
    assert verdict.cause_at.epoch == 3
    assert verdict.headline.startswith(
        "Overfitting since epoch 3: val_loss rose by 100"
    )
    assert verdict.fixes[0].title == "Keep the weights of epoch 3"


@pytest.mark.parametrize(
    ("hidden", "code"),
    [
        (
            [
                layer("a", units=64, parameters=640, activation="relu"),
                layer("b", "Conv2D", units=8, parameters=80),
                layer("drop", "Dropout"),
            ],
            'keras.layers.Dense(32, activation="relu")  # a has 64',
        ),
        (
            [layer("b", "Conv2D", units=8, parameters=80), layer("drop", "Dropout")],
            "keras.layers.Conv2D(4, ...)  # b has 8",
        ),
        (
            [layer("mine", "Mine", units=8, parameters=80, is_custom=True)],
            "keras.layers.Dropout(0.3)",
        ),
        (
            [layer("drop", "Dropout")],
            "kernel_regularizer=keras.regularizers.L2(1e-4)",
        ),
    ],
)
def test_the_largest_layer_is_the_one_to_change(hidden, code):
    verdict = found(RULE, run(TURNS, hidden=hidden))

    assert verdict is not None
    assert verdict.fixes[1].code == code


def test_a_loss_that_doubled_is_a_problem_even_if_accuracy_gained():
    told = run(
        [0.7, 0.6, 0.7, 0.9, 1.1, 1.3, 1.5, 1.7, 1.9, 2.1],
        metrics={"val_accuracy": [0.5] * 5 + [0.55] * 5},
    )

    assert is_alarm(RULE, told)


def test_accuracy_that_was_nearly_perfect_and_fell():
    val = [0.2, 0.12, 0.08, 0.07, 0.08, 0.09, 0.1, 0.11, 0.12, 0.13]
    falls = [0.94, 0.96, 0.97, 0.98, 0.975, 0.97, 0.965, 0.96, 0.955, 0.95]

    assert is_alarm(RULE, run(val, metrics={"val_accuracy": falls}))


def test_a_checkpoint_of_every_epoch_undoes_nothing():
    told = run(TURNS, more=[saved(50 * n) for n in range(1, 11)])

    assert is_alarm(RULE, told)


class TestIsNoAlarm:
    def test_early_stopping_watched(self):
        told = run(TURNS, settings={"callbacks": "History, EarlyStopping"})

        assert not is_alarm(RULE, told)

    def test_only_the_best_epoch_was_saved(self):
        told = run(TURNS, more=[saved(50), saved(100), saved(150)])

        assert not is_alarm(RULE, told)

    def test_accuracy_that_still_gains(self):
        val = [0.7, 0.62, 0.6, 0.62, 0.65, 0.7, 0.74, 0.78, 0.8, 0.82]
        gains = [0.6, 0.65, 0.7, 0.71, 0.73, 0.74, 0.75, 0.76, 0.77, 0.78]

        assert not is_alarm(RULE, run(val, metrics={"val_accuracy": gains}))

    def test_accuracy_that_is_nearly_perfect_and_stays_so(self):
        val = [0.2, 0.12, 0.08, 0.07, 0.075, 0.08, 0.085, 0.09, 0.1, 0.11]
        stays = [0.94, 0.96, 0.97, 0.978, 0.979, 0.98, 0.979, 0.981, 0.98, 0.98]

        assert not is_alarm(RULE, run(val, metrics={"val_accuracy": stays}))

    def test_a_rise_that_is_small_beside_what_was_gained(self):
        val = [0.7, 0.2, 0.05, 0.01, 0.011, 0.012, 0.013, 0.014, 0.015, 0.016]

        assert not is_alarm(RULE, run(val))


class TestSeesNothing:
    def test_in_a_small_rise(self):
        val = [0.7, 0.62, 0.6, 0.61, 0.62, 0.62, 0.63, 0.64, 0.66, 0.67]

        assert found(RULE, run(val)) is None

    def test_in_noise(self):
        val = [0.7, 0.6, 0.9, 0.62, 0.95, 0.61, 0.9, 0.62, 0.61, 0.9]

        assert found(RULE, run(val)) is None

    def test_where_both_losses_rise(self):
        assert found(RULE, run(TURNS, loss=TURNS)) is None

    def test_in_few_epochs(self):
        assert found(RULE, run([0.6, 0.9, 1.2], loss=[0.5, 0.2, 0.1])) is None

    def test_in_the_last_two_epochs(self):
        val = [0.9, 0.8, 0.7, 0.65, 0.62, 0.61, 0.6, 0.59, 0.8, 0.9]

        assert found(RULE, run(val)) is None

    def test_without_validation(self):
        assert found(RULE, training(metrics={"loss": FALLS})) is None

    def test_in_losses_below_zero_or_bad_numbers(self):
        nan = float("nan")

        assert found(RULE, run([-1.0 * v for v in TURNS])) is None
        assert found(RULE, run([nan] * 10)) is None
        assert found(RULE, run(TURNS, loss=[nan] * 10)) is None


class TestLearnedByHeart:
    """The target of these runs has a variance of 1."""

    TO_NOTHING = (1.0, 0.2, 0.05, 0.01, 0.002, 0.001, 0.001, 0.001)
    STANDS = (1.1, 1.0, 0.95, 0.94, 0.93, 0.93, 0.93, 0.93)

    def judge(self, val_loss, losses=TO_NOTHING, **more):
        more.setdefault("target", numbers())
        metrics = {"loss": losses, "val_loss": val_loss, **more.pop("metrics", {})}
        return found(RULE, training(metrics=metrics, **more))

    def test_validation_that_got_nowhere(self):
        verdict = self.judge(self.STANDS)

        assert (verdict.detail, verdict.severity) == ("by_heart", "warning")
        assert verdict.headline == (
            "Learned by heart: loss 0.001, but val_loss 0.93 is no better than guessing"
        )

    def test_validation_that_is_some_use(self):
        assert self.judge([1.1, 0.9, 0.7, 0.6, 0.5, 0.5, 0.5, 0.5]) is None

    def test_a_training_loss_that_is_not_nothing(self):
        assert self.judge(self.STANDS, [1.0, 0.8, 0.6, 0.5, 0.4, 0.3, 0.3]) is None

    def test_too_few_epochs(self):
        assert self.judge(self.STANDS[:4], self.TO_NOTHING[:4]) is None

    def test_a_loss_that_nobody_can_compare(self):
        assert self.judge(self.STANDS, target=()) is None

    def test_an_accuracy_that_is_some_use(self):
        verdict = self.judge(
            [0.7, 0.69, 0.68, 0.68, 0.68, 0.68, 0.68, 0.68],
            target=labels({0.0: 16, 1.0: 16}, (32, 1)),
            activation="sigmoid",
            loss="binary_crossentropy",
            metrics={"val_accuracy": [0.7] * 8},
        )

        assert verdict is None
