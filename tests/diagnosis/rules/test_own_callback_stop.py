"""Callbacks of one's own that name no metric: what they hold tells what they watch."""

import pytest

from tests.diagnosis.rules.stopped import FALLING, found, stopped


class TestAnOwnCallbackThatNamesNoMetric:
    def stop(self, values, **more):
        return found(*stopped(values, monitor=None, callback="Patience", **more))

    def test_it_kept_a_best_that_was_none(self):
        verdict = self.stop(FALLING, best=1.0, wait=2)

        assert verdict.detail == "best_not_kept"
        assert verdict.confidence == "likely"
        assert "missed that loss had improved" in verdict.headline
        assert verdict.fixes[0].code == (
            'if logs["loss"] < self.best:\n    self.best, self.wait = logs["loss"], 0'
        )
        assert verdict.evidence[0].text == (
            "loss went from 1 to 0.46; its best was still 1."
        )

    NOISY = (9.0, 12.1, 8.2, 13.0, 12.4, 11.9)

    def test_it_compared_batches_and_stopped_in_the_first_epoch(self):
        verdict = self.in_the_first_epoch(self.NOISY, 11.9)

        assert (verdict.detail, verdict.confidence) == ("counts_batches", "likely")
        assert verdict.headline == (
            "Patience compared single batches for 10 steps, and stopped after 1 of 50 "
            "epochs"
        )
        assert "it held last = 11.9, worse = 5" in verdict.evidence[0].text

    @pytest.mark.parametrize(
        ("losses", "held"),
        [
            ((9.0, 6.0, 3.0, 1.0, 0.4, 0.1), 0.1),
            ((9.0, 20.0, 80.0, 3e3, 4e5, 1e9), 1e9),
            # It did not look at the loss: a limit of time or of steps.
            (NOISY, 3.0),
        ],
    )
    def test_a_goal_a_runaway_and_a_limit_in_the_first_epoch(self, losses, held):
        assert self.in_the_first_epoch(losses, held) is None

    def in_the_first_epoch(self, losses, held):
        return self.stop(
            losses[-1:],
            profile=losses,
            function="on_train_batch_end",
            settings={"last": str(held), "worse": "5"},
        )

    def test_under_a_name_of_its_own(self):
        verdict = self.stop(
            FALLING,
            settings={"best_val_acc": "0.31", "counter": "3"},
            other={"val_accuracy": (0.31, 0.5, 0.6, 0.64, 0.7)},
        )

        assert verdict.detail == "best_not_kept"
        assert "val_accuracy" in verdict.headline

    def test_a_goal_that_was_reached(self):
        assert self.stop(FALLING, settings={"goal": "0.5"}) is None

    def test_the_first_loss_to_stop_at_a_part_of_it(self):
        assert self.stop(FALLING, settings={"initial_loss": "1.0"}) is None

    def test_the_real_best_and_no_progress_since(self):
        values = (1.0, 0.6, 0.7, 0.72, 0.71)

        assert self.stop(values, best=0.6, wait=3) is None

    def test_an_old_best_that_was_right_to_stop_at(self):
        # It missed one small step, and all got worse long ago.
        values = (1.0, 0.9, 1.3, 1.5, 1.8)

        assert self.stop(values, best=1.0, wait=2) is None

    def test_a_best_of_something_else(self):
        assert self.stop(FALLING, best=0.123, wait=2) is None

    def test_a_best_that_missed_next_to_nothing(self):
        values = (1.0, 0.99, 0.985, 0.98, 0.98)

        assert self.stop(values, best=0.99, wait=2) is None

    def test_a_metric_of_which_nobody_knows_what_is_better(self):
        verdict = self.stop(
            (1.0, 1.0, 1.0, 1.0, 1.0),
            best=0.2,
            other={"gap": (0.2, 0.4, 0.6, 0.8, 0.9)},
        )

        assert verdict is None
