"""Callbacks that eat the time, and those that may."""

import pytest

from tb_health_plugin.diagnosis.rules.slow_callback import RULE
from tb_health_plugin.diagnosis.verdict import Verdict
from tb_health_plugin.events import facts
from tests.diagnosis.rules.histories import (
    START,
    ask,
    epochs,
    time_spent,
    training_ended,
    training_started,
)


def run(
    callbacks, *, seconds=10.0, steps=100, saves=(), count=3, known=None, settings=None
):
    spent = {
        "seconds": seconds,
        "steps": steps,
        "step_seconds": 1.0,
        "callback_seconds": callbacks,
    }
    return ask(
        RULE,
        training_started(settings=settings),
        *epochs([seconds] * count, steps),
        *time_spent([spent] * (known or count)),
        *saves,
        training_ended(seconds * count, steps * count, epochs=count),
    )


def saves(count, seconds, callback):
    return [
        facts.Saved(
            wall_time=START + number,
            step=number,
            training=0,
            seconds=seconds,
            ok=True,
            callback=callback,
        )
        for number in range(count)
    ]


class TestSlow:
    def test_most_of_the_time(self):
        found = run({"Plots": 8.0})

        assert isinstance(found, Verdict)
        assert found.severity == "warning"
        assert found.headline == "The callback Plots took 80% of the time"
        assert found.place == {"callback": "Plots"}

    def test_saving_after_every_step_of_a_short_run(self):
        saved = saves(90, 0.012, "Often")
        found = run({"Often": 0.4}, seconds=0.6, steps=30, saves=saved)

        assert isinstance(found, Verdict)

    def test_saving_after_every_step(self):
        found = run({"Often": 8.0}, saves=saves(300, 0.08, "Often"))

        assert isinstance(found, Verdict)
        assert "every step" in found.evidence[-1].text
        assert found.fixes[0].title == "Save once per epoch"

    def test_saving_once_per_epoch_for_longer_than_the_epoch(self):
        found = run({"ModelCheckpoint": 8.0}, saves=saves(3, 8.0, "ModelCheckpoint"))

        assert isinstance(found, Verdict)

    def test_a_saver_whose_saves_nobody_saw(self):
        found = run({"ModelCheckpoint": 8.0})

        assert isinstance(found, Verdict)
        assert found.confidence == "likely"
        assert "How often it saved is not known." in found.because

    def test_the_slowest_is_named(self):
        found = run({"Fast": 1.0, "Slow": 7.0})

        assert isinstance(found, Verdict)
        assert found.detail == "Slow"


class TestHealthy:
    def test_most_of_the_stretches_that_a_damaged_record_has_left(self):
        assert run({"Save": 6.0}, count=4, known=4) is not None
        assert run({"Save": 6.0}, count=4, known=1) is None

    def test_a_tenth_of_the_time(self):
        assert run({"Plots": 1.0}) is None

    def test_checkpoints_of_epochs_that_last_a_moment(self):
        found = run(
            {"ModelCheckpoint": 0.3},
            seconds=0.4,
            steps=16,
            count=20,
            saves=saves(20, 0.29, "ModelCheckpoint"),
        )

        assert found is None

    @pytest.mark.parametrize("known", [(None, "Keeper"), (4.5, None)])
    def test_saves_of_which_too_little_is_known(self, known):
        assert run({"Keeper": 8.0}, saves=saves(3, *known)) is None

    def test_a_run_of_a_second(self):
        assert run({"Plots": 0.3}, seconds=0.4) is None

    def test_a_few_steps(self):
        assert run({"Plots": 8.0}, steps=4) is None

    def test_none_at_all(self):
        assert run({}) is None


@pytest.mark.parametrize("odd", [float("nan"), -1.0, float("inf")])
def test_odd_numbers(odd):
    assert run({"Plots": odd}) is None


def test_no_training():
    assert ask(RULE) is None
