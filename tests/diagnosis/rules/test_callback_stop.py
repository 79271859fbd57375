"""Stops by mistake, and stops as somebody wanted."""

import pytest

from tests.diagnosis.rules.histories import training_ended, training_started
from tests.diagnosis.rules.stopped import FALLING, found, stopped


class TestByMistake:
    @pytest.mark.parametrize(
        ("monitor", "values", "mode"),
        [
            ("val_accuracy", (0.5, 0.6, 0.7, 0.75), "min"),
            ("val_loss", (1.0, 0.8, 0.6, 0.5), "max"),
            ("val_auc", (0.5, 0.6, 0.7, 0.75), "min"),
            ("mae", (3.0, 2.0, 1.5, 1.2), "max"),
            ("val_f1_score", (0.1, 0.3, 0.4, 0.5), "min"),
        ],
    )
    def test_better_is_taken_for_worse(self, monitor, values, mode):
        verdict = found(
            *stopped(
                values,
                monitor=monitor,
                settings={"mode": mode},
                best=values[0],
                wait=3,
                patience=3,
            )
        )

        assert (verdict.detail, verdict.severity) == ("mode", "warning")
        assert verdict.confidence == "proven"
        assert verdict.place == {"callback": "EarlyStopping", "metric": monitor}
        right = "max" if mode == "min" else "min"
        assert verdict.fixes[0].title == f'Set mode="{right}"'
        assert verdict.headline == (
            f"EarlyStopping took better {monitor} for worse, and stopped after 4 of 50 "
            "epochs"
        )

    def test_a_long_name_does_not_make_a_long_headline(self):
        verdict = found(
            *stopped(
                (0.5, 0.6, 0.7),
                monitor="val_second_output_sparse_categorical_accuracy",
                settings={"mode": "min"},
                patience=2,
            )
        )

        assert verdict.headline == (
            "EarlyStopping stopped after 3 of 50 epochs by mistake"
        )

    def test_the_mode_is_seen_in_the_sign_of_the_smallest_step(self):
        verdict = found(
            *stopped(
                (0.5, 0.6, 0.7),
                monitor="val_accuracy",
                settings={"mode": "auto", "min_delta": "-0.001"},
                patience=2,
            )
        )

        assert verdict.detail == "mode"

    def test_a_baseline_that_is_not_near(self):
        verdict = found(
            *stopped(
                # Keras stops at the first setback once the patience is used up.
                (0.5, 0.6, 0.65, 0.7, 0.69),
                monitor="val_accuracy",
                settings={"mode": "max", "baseline": "95"},
                best=0.7,
                patience=4,
            )
        )

        assert verdict.detail == "baseline"
        assert "95" in verdict.headline

    def test_a_smallest_step_that_no_epoch_makes(self):
        verdict = found(
            *stopped(
                (2.0, 1.9, 1.8, 1.7, 1.6),
                settings={"mode": "min", "min_delta": "-0.5"},
                best=2.0,
                patience=4,
            )
        )

        assert verdict.detail == "min_delta"

    def test_a_smallest_step_beyond_all_reason_shows_at_once(self):
        verdict = found(
            *stopped(
                (1.65, 1.62, 1.58),
                settings={"mode": "auto", "min_delta": "-1.0"},
                best=1.65,
                patience=2,
            )
        )

        assert verdict.detail == "min_delta"

    def test_a_metric_that_never_moves(self):
        verdict = found(
            *stopped(
                (0.0,) * 4,
                monitor="val_accuracy",
                other={"val_loss": (9.0, 5.0, 3.0, 2.0)},
                best=0.0,
                patience=3,
                settings={"mode": "max"},
            )
        )

        assert verdict.detail == "monitor"
        assert verdict.fixes[0].code == 'monitor="val_loss"'

    def test_one_small_setback_without_patience(self):
        verdict = found(
            *stopped(
                (1.0, 0.8, 0.6, 0.62),
                settings={"mode": "min"},
                best=0.6,
                wait=1,
                patience=0,
            )
        )

        assert verdict.detail == "patience"

    def test_a_best_value_that_is_never_kept(self):
        verdict = found(
            *stopped(FALLING, callback="Plateau", best=1.0, wait=4, patience=4)
        )

        assert verdict.detail == "best_not_kept"

    def test_patience_that_is_used_up_in_batches(self):
        verdict = found(
            *stopped(
                (0.7,),
                monitor="loss",
                callback="Plateau",
                profile=(2.0, 1.6, 1.3, 1.0, 0.9, 0.8, 0.75, 0.7),
                function="on_train_batch_end",
                patience=5,
                best=0.7,
            )
        )

        assert verdict.detail == "counts_batches"

    def test_a_callback_that_remembers_the_training_before(self):
        first = stopped(FALLING, monitor=None, callback="Mine")
        second = stopped((1.1,), monitor=None, callback="Mine", training=1)

        assert found(*first, *second).detail == "stale_state"

    def test_an_earlier_training_counts_too(self):
        first = stopped(
            (0.5, 0.6, 0.7),
            monitor="val_accuracy",
            settings={"mode": "min"},
            patience=2,
        )
        second = [
            training_started(2_000, training=1, planned_epochs=1, first_step=30),
            training_ended(2_010, 60, training=1),
        ]

        assert found(*first, *second).detail == "mode"


class TestAsWanted:
    def test_a_metric_that_no_longer_improves(self):
        assert not found(
            *stopped(
                (1.0, 0.6, 0.5, 0.51, 0.52, 0.53),
                settings={"mode": "min"},
                best=0.5,
                wait=3,
                patience=3,
            )
        )

    def test_a_metric_that_got_worse_from_the_start(self):
        assert not found(
            *stopped(
                (1.0, 1.1, 1.2, 1.3),
                other={"loss": (1.0, 0.8, 0.6, 0.4)},
                settings={"mode": "min"},
                best=1.0,
                wait=3,
                patience=3,
            )
        )

    def test_a_plateau_without_patience(self):
        assert not found(
            *stopped(
                (1.0, 0.4, 0.301, 0.300, 0.3005),
                settings={"mode": "min"},
                best=0.3,
                patience=0,
            )
        )

    def test_a_goal_that_was_reached(self):
        assert not found(*stopped(FALLING, monitor=None, callback="Goal"))

    def test_a_goal_that_was_reached_in_the_first_epoch(self):
        assert not found(*stopped((0.66,), monitor=None, callback="Goal"))

    def test_a_goal_for_a_metric(self):
        assert not found(
            *stopped(
                (0.8, 0.9, 0.96),
                monitor="accuracy",
                callback="Goal",
                settings={"target": "0.95"},
            )
        )

    def test_a_baseline_that_was_passed(self):
        assert not found(
            *stopped(
                (0.5, 0.7, 0.8, 0.79, 0.78),
                monitor="val_accuracy",
                settings={"mode": "max", "baseline": "0.6"},
                best=0.8,
                patience=2,
            )
        )

    def test_a_baseline_that_was_not_reached_and_would_not_be(self):
        assert not found(
            *stopped(
                (0.5, 0.55, 0.54, 0.55),
                monitor="val_accuracy",
                settings={"mode": "max", "baseline": "0.9"},
                best=0.55,
                patience=4,
            )
        )

    def test_a_smallest_step_that_keeps_noise_out(self):
        assert not found(
            *stopped(
                (1.0, 0.5, 0.499, 0.498, 0.497),
                settings={"mode": "min", "min_delta": "-0.01"},
                best=0.5,
                patience=3,
            )
        )

    def test_a_flat_metric_beside_a_flat_loss(self):
        assert not found(
            *stopped(
                (0.5,) * 4,
                monitor="val_accuracy",
                other={"val_loss": (0.69, 0.69, 0.69, 0.69)},
                settings={"mode": "max"},
                best=0.5,
                patience=3,
            )
        )

    def test_a_metric_whose_name_says_nothing(self):
        assert not found(
            *stopped(
                (0.1, 0.2, 0.3), monitor="val_q", settings={"mode": "min"}, patience=2
            )
        )

    def test_a_stop_in_the_last_epoch_cost_nothing(self):
        assert not found(
            *stopped(
                (0.5, 0.6, 0.7),
                monitor="val_accuracy",
                settings={"mode": "min"},
                patience=2,
                planned=3,
            )
        )

    def test_a_nan_that_was_seen_is_not_a_mistake(self):
        assert not found(
            *stopped(
                (1.0, float("nan")),
                monitor=None,
                callback="TerminateOnNaN",
                is_keras=True,
            )
        )

    def test_trainings_of_a_sweep_that_all_end_early(self):
        first = stopped(FALLING, monitor=None, callback="Mine")
        second = stopped(FALLING, monitor=None, callback="Mine", training=1)

        assert not found(*first, *second)

    def test_a_second_training_that_goes_on_from_the_first(self):
        first = stopped(FALLING, monitor=None, callback="Mine")
        second = stopped((0.45,), monitor=None, callback="Mine", training=1)

        assert not found(*first, *second)

    def test_nobody_stopped(self):
        assert not found(
            training_started(planned_epochs=3), training_ended(9.0, 30, epochs=3)
        )
