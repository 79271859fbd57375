"""A run that ended while it still improved gets a hint; a useless one a warning."""

from tb_health_plugin.diagnosis.rules.undertrained import RULE
from tb_health_plugin.events import facts
from tests.diagnosis.rules.histories import training_ended
from tests.diagnosis.rules.outcomes import found, labels, training

LINE = [1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3]
LEVELS_OFF = [1.0, 0.5, 0.3, 0.25, 0.24, 0.235, 0.233, 0.232]


def test_a_loss_that_falls_to_the_end():
    verdict = found(RULE, training(metrics={"loss": LINE}))

    assert verdict is not None
    assert verdict.severity == "info"
    assert verdict.fixes[0].code == "model.fit(..., initial_epoch=8, epochs=16)"


class TestSeesNothing:
    def test_in_a_loss_that_levels_off(self):
        assert found(RULE, training(metrics={"loss": LEVELS_OFF})) is None

    def test_where_validation_stopped_improving(self):
        told = training(metrics={"loss": LINE, "val_loss": LEVELS_OFF[::-1]})

        assert found(RULE, told) is None

    def test_in_a_loss_that_hardly_moves(self):
        told = training(metrics={"loss": [1.0 - n / 1_000 for n in range(8)]})

        assert found(RULE, told) is None

    def test_in_a_smoke_test(self):
        assert found(RULE, training(metrics={"loss": [1.0, 0.5]}, steps=4)) is None

    def test_in_a_run_that_somebody_stopped(self):
        stop = facts.StopRequested(wall_time=2.0, training=0, callback="EarlyStopping")

        assert found(RULE, training(metrics={"loss": LINE}, more=[stop])) is None

    def test_in_a_run_that_failed(self):
        ended = training_ended(9, 400, reason="raised", epochs=8)

        assert found(RULE, training(metrics={"loss": LINE}, more=[ended])) is None

    def test_in_a_loss_with_a_bad_number(self):
        told = training(metrics={"loss": [*LINE, float("nan")]})

        assert found(RULE, told) is None


class TestHardlyBegun:
    """Of two classes of one size: a constant answer has a loss of 0.6931."""

    FALLS = (0.72, 0.71, 0.7, 0.69, 0.68, 0.67, 0.66, 0.65)

    def judge(self, losses, **more):
        told = training(
            loss="binary_crossentropy",
            activation="sigmoid",
            target=labels({0.0: 16, 1.0: 16}, (32, 1)),
            metrics={"loss": losses},
            **more,
        )
        return found(RULE, told)

    def test_a_run_that_ended_before_it_was_of_any_use(self):
        verdict = self.judge(self.FALLS)

        assert (verdict.detail, verdict.severity) == ("hardly_begun", "warning")
        assert verdict.headline.startswith("Ended hardly better than guessing")
        assert "gives 0.6931" in verdict.evidence[1].text
        assert verdict.fixes[1].code == "keras.optimizers.Adam(learning_rate=0.003)"

    def test_one_that_is_of_use_gets_a_hint_only(self):
        verdict = self.judge([loss - 0.2 for loss in self.FALLS])

        assert (verdict.detail, verdict.severity) == ("still_improving", "info")

    def test_one_that_is_too_short_to_judge_gets_a_hint_only(self):
        verdict = self.judge(self.FALLS, steps=20)

        assert (verdict.detail, verdict.severity) == ("still_improving", "info")
