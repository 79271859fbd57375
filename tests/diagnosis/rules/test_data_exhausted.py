"""Epochs and validations that were short, and those that only look so."""

from collections.abc import Sequence

import pytest

from tb_health_plugin.diagnosis.rules.data_exhausted import RULE
from tb_health_plugin.diagnosis.verdict import Story, Verdict
from tb_health_plugin.events import facts
from tests.diagnosis.rules.histories import (
    ALIVE,
    START,
    ask,
    case_of,
    run_started,
    training_ended,
    training_started,
)


def trained(
    steps: Sequence[int],
    *,
    planned: int | None = 20,
    validated: Sequence[int | None] | None = None,
    planned_validation: int | None = None,
    training: int = 0,
    reason: str | None = "returned",
    planned_epochs: int | None = None,
    **settings: str,
) -> list[facts.Fact]:
    named = {name.replace("__", "."): value for name, value in settings.items()}
    first = 1_000 * training
    count = len(steps)
    told: list[facts.Fact] = [
        training_started(
            100.0 * training,
            training=training,
            planned_epochs=planned_epochs or count,
            first_step=first,
            settings=named,
        )
    ]
    for number, done in enumerate(steps):
        told.append(
            facts.EpochEnded(
                wall_time=START + 100.0 * training + number,
                step=first + done,
                training=training,
                epoch=number,
                first_step=first,
                last_step=first + done,
                planned_steps=planned,
                validation_steps=validated[number] if validated else None,
                planned_validation_steps=planned_validation,
                metrics={"loss": 1.0},
            )
        )
        first += done
    told.append(
        training_ended(
            100.0 * training + count,
            first,
            training=training,
            epochs=count,
            reason=reason,
        )
    )
    return told


def story(*told: facts.Fact) -> Story:
    return case_of(run_started(), *told).story


def stop(epoch: int) -> facts.StopRequested:
    return facts.StopRequested(
        wall_time=START, training=0, epoch=epoch, callback="Mine"
    )


WARNED = facts.ProgramSaid(
    wall_time=START,
    logger="warnings",
    message="Your input ran out of data; interrupting training. Make sure that",
)


class TestShort:
    def test_an_early_training_of_several(self):
        told = story(
            *trained([20, 7, 3]), *trained([20, 20, 20], training=1, planned=20)
        )

        assert told.verdict.id == "data_exhausted"
        assert told.headline == "The input ran out: 30 of 60 planned steps were run"
        assert told.verdict.detail == "30 of 60 steps"

    def test_keras_own_warning_makes_it_sure(self):
        assert story(*trained([20, 7, 3])).verdict.confidence == "likely"
        assert story(WARNED, *trained([20, 7, 3])).verdict.confidence == "proven"

    def test_a_last_epoch_alone_if_nobody_had_stopped_it(self):
        assert story(*trained([20, 20, 7])).verdict.id == "data_exhausted"

    def test_a_generator_without_a_plan(self):
        told = story(*trained([130, 2, 2], planned=None, data__kind="generator"))

        assert told.verdict.id == "data_exhausted"
        assert "while True" in told.verdict.fixes[0].code

    @pytest.mark.parametrize("planned", [None, 0])
    def test_an_input_that_is_empty(self, planned: int | None):
        told = story(*trained([0, 0], planned=planned))

        assert told.headline == "The input was empty: not one step was run"
        # Nobody may repeat what is empty: that never gives a row, and never ends.
        assert all("repeat" not in (fix.code or "") for fix in told.verdict.fixes)

    def test_while_it_still_runs(self):
        told = trained([20, 7, 3])[:-1]

        outcome = ask(RULE, run_started(), *told, life=ALIVE)

        assert isinstance(outcome, Verdict)
        assert outcome.detail == "30 of 60 steps"

    def test_validation_that_is_short(self):
        told = story(*trained([20, 20], validated=[3, 3], planned_validation=10))

        assert told.headline == ("Validation ran out of data: 6 of 20 batches were run")

    def test_validation_that_is_used_up(self):
        told = story(*trained([20, 20, 20], validated=[12, 0, 0]))

        assert told.verdict.evidence[0].text == (
            "The validation of epoch 2 had 0 of 12 batches."
        )

    @pytest.mark.parametrize("planned", [None, 0])
    def test_validation_that_is_empty(self, planned: int | None):
        told = story(*trained([20, 20], validated=[0, 0], planned_validation=planned))

        assert told.headline == "Validation had no data: not one batch was validated on"


class TestNotShort:
    def none(self, *told: facts.Fact) -> bool:
        return story(*told).verdict is None and ask(RULE, run_started(), *told) is None

    def test_a_curriculum_of_three(self):
        assert self.none(
            *trained([20, 20]),
            *trained([50, 50], training=1, planned=50),
            *trained([5, 5], training=2, planned=5),
        )

    def test_an_epoch_that_a_callback_cut(self):
        assert self.none(stop(1), *trained([20, 7], planned_epochs=9))

    def test_the_only_epoch_that_a_callback_cut(self):
        assert self.none(stop(0), *trained([7], planned_epochs=9))

    def test_a_last_epoch_in_a_record_that_does_not_say_who_stopped(self):
        assert self.none(*trained([20, 20, 7], reason=None))

    def test_a_last_epoch_of_a_training_that_ended_early(self):
        assert self.none(*trained([20, 20, 7], planned_epochs=9))

    def test_epochs_that_vary_without_a_plan(self):
        assert self.none(*trained([130, 121, 90, 118], planned=None))

    def test_short_epochs_without_a_plan(self):
        assert self.none(*trained([4, 1, 4], planned=None))

    @pytest.mark.parametrize("said", [(), (WARNED,)])
    def test_a_data_set_that_grows_shorter_by_itself(self, said):
        assert self.none(*said, *trained([20, 15, 10], data__kind="PyDataset"))

    def test_more_steps_than_planned(self):
        assert self.none(*trained([32, 32], planned=30))

    def test_validation_every_other_epoch(self):
        assert self.none(
            *trained([20] * 4, validated=[None, 10, None, 10], planned_validation=10)
        )

    def test_validation_that_varies_without_a_plan(self):
        assert self.none(*trained([20] * 3, validated=[12, 11, 12]))

    def test_a_loop_without_epochs(self):
        begun = training_started(planned_epochs=None, loop="loop")
        again = [
            facts.EpochEnded(
                wall_time=START + n,
                step=n,
                training=0,
                epoch=0,
                first_step=0,
                last_step=n,
                planned_steps=100,
            )
            for n in (10, 20)
        ]

        assert ask(RULE, run_started(), begun, *again, life=ALIVE) is None

    def test_an_exception_that_cut_an_epoch(self):
        told = trained([20, 20], reason="raised", planned_epochs=9)

        assert ask(RULE, run_started(), *told) is None


@pytest.mark.parametrize("known", ["first_step", "last_step"])
def test_a_record_without_steps_is_not_short(known: str):
    epoch = facts.EpochEnded(
        wall_time=START, training=0, epoch=0, planned_steps=20, **{known: 0}
    )

    assert ask(RULE, run_started(), training_started(), epoch) is None
