"""Saves that failed quietly, and saves that were never due."""

from tb_health_plugin.diagnosis.rules.checkpoint_failure import RULE
from tb_health_plugin.diagnosis.verdict import Verdict
from tb_health_plugin.events import facts
from tests.diagnosis.rules.histories import (
    START,
    ask,
    epochs,
    run_started,
    time_spent,
    training_ended,
    training_started,
)

CHECKPOINT = {"callbacks": "EarlyStopping, ModelCheckpoint"}


def save(at, *, ok, path="/out/a.keras"):
    return facts.Saved(
        wall_time=START + at,
        step=int(at * 10),
        training=0,
        path=path,
        ok=ok,
        callback="Keep",
    )


def run(*told, settings=None, count=4, steps=50, timed=True, reason="returned"):
    spent = [{"steps": steps, "save_seconds": 0.0 if timed else None}] * count
    return ask(
        RULE,
        run_started(),
        training_started(settings=settings),
        *epochs([5.0] * count, steps, metrics=[{"loss": 1.0, "val_loss": 1.0}] * count),
        *time_spent(spent),
        *told,
        training_ended(5.0 * count, steps * count, epochs=count, reason=reason),
    )


class TestFailed:
    def test_every_save_raised_and_was_swallowed(self):
        found = run(save(5, ok=False), save(10, ok=False))

        assert isinstance(found, Verdict)
        assert found.severity == "warning"
        assert found.confidence == "proven"
        assert found.headline == "Saving the model failed 2 times, first at step 50"
        assert found.place == {"callback": "Keep", "path": "/out/a.keras"}

    def test_the_last_one_failed(self):
        found = run(save(5, ok=True), save(10, ok=False))

        assert isinstance(found, Verdict)
        assert found.severity == "warning"
        assert "step 50" in found.evidence[1].text

    def test_one_that_failed_once_and_worked_later_is_only_a_note(self):
        found = run(save(5, ok=False), save(10, ok=True))

        assert isinstance(found, Verdict)
        assert found.severity == "info"


class TestNeverSaved:
    def test_it_monitors_a_metric_that_does_not_exist(self):
        said = facts.ProgramSaid(
            wall_time=START + 5,
            message="UserWarning: Can save best model only with val_acc available.",
        )

        found = run(said, settings=CHECKPOINT)

        assert isinstance(found, Verdict)
        assert found.detail == "monitor"
        assert '"val_acc"' in found.because
        assert 'monitor="val_loss"' in (found.fixes[0].code or "")

    def test_it_never_saved_for_another_reason(self):
        found = run(settings=CHECKPOINT)

        assert isinstance(found, Verdict)
        assert found.detail == "never_saved"
        assert found.confidence == "likely"


class TestHealthy:
    def test_a_save_that_ended_the_training_is_told_as_its_end(self):
        assert run(save(5, ok=True), save(10, ok=False), reason="raised") is None

    def test_saves_that_worked(self):
        assert run(save(5, ok=True), save(10, ok=True), settings=CHECKPOINT) is None

    def test_a_save_of_which_nobody_knows_whether_it_worked(self):
        assert run(save(5, ok=None), settings=CHECKPOINT) is None

    def test_no_callback_that_saves(self):
        assert run(settings={"callbacks": "EarlyStopping"}) is None

    def test_a_smoke_test_that_ends_before_a_save_is_due(self):
        assert run(settings=CHECKPOINT, count=2, steps=4) is None

    def test_nobody_watched_for_saves(self):
        assert run(settings=CHECKPOINT, timed=False) is None

    def test_a_training_that_raised(self):
        assert run(settings=CHECKPOINT, reason="raised") is None

    def test_a_class_of_another_name(self):
        assert run(settings={"callbacks": "MyModelCheckpointing"}) is None

    def test_nothing_was_recorded(self):
        assert ask(RULE) is None
