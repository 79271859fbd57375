"""Weights that stand still are told from those frozen, warmed up or decayed."""

import dataclasses
import math

from tb_health_plugin.diagnosis.rules.weights_not_updated import RULE
from tb_health_plugin.diagnosis.verdict import NotMeasured, Verdict
from tb_health_plugin.events import facts
from tests.diagnosis.rules import networks as net
from tests.diagnosis.rules.histories import START, ask, run_started

FROZEN = tuple({**layer, "trainable": False} for layer in net.LAYERS)


def found(*told: facts.Fact) -> Verdict | None:
    outcome = ask(RULE, run_started(), *told)
    assert outcome is None or isinstance(outcome, Verdict)
    return outcome


def test_nothing_is_trainable():
    said = facts.ProgramSaid(
        wall_time=START, message="The model does not have any trainable weights."
    )

    verdict = found(net.started(FROZEN), said, *net.epochs(net.STANDS))

    assert verdict is not None
    assert (verdict.detail, verdict.confidence) == ("nothing_trainable", "proven")
    assert verdict.severity == "critical"
    assert len(verdict.evidence) == 3


def test_no_variable_ever_changes():
    told = net.looks(updates=0.0, loss=1.0)

    verdict = found(net.started(), *told, *net.epochs(net.STANDS))

    assert verdict is not None
    assert (verdict.detail, verdict.severity) == ("all", "critical")
    assert verdict.headline.startswith("None of the 6 variables changed")


def test_one_look_tells_what_became_trainable_after_compile():
    told = net.look(40, updates=[0.0, 0.004, 0.004])

    verdict = found(net.started(), told, *net.epochs(net.LEARNS))

    assert verdict is not None
    assert (verdict.detail, verdict.severity) == ("not_compiled", "warning")
    assert verdict.headline == (
        "2 of 6 trainable variables get gradients and no updates (one)"
    )
    assert verdict.fixes[0].code == (
        "model.compile(keras.optimizers.Adam(learning_rate=0.001), loss=...)"
    )


def test_gradients_of_which_none_is_a_number_fail_nothing():
    nan = float("nan")
    told = net.look(40, updates=[0.0, 0.004, 0.004], gradients=[nan, 0.5, 0.5])

    found(net.started(), told, *net.epochs(net.LEARNS))


def test_some_have_gradients_and_never_change():
    told = net.looks(updates=[0.0, 0.004, 0.004])

    verdict = found(net.started(train_step="custom"), *told, *net.epochs(net.LEARNS))

    assert verdict is not None
    assert (verdict.detail, verdict.severity) == ("some", "warning")
    assert verdict.place["layer"] == "one"


def varied(epochs: int, *, last: float = 3.0) -> list[facts.EpochEnded]:
    """Epochs whose batches differ; `last` is the last loss of the last epoch."""
    profile = (1.0, 2.0, 1.5, 2.5, 1.2, 2.2, 1.7)
    return [
        dataclasses.replace(
            epoch,
            metrics={"loss": 1.9 if last == 3.0 else 1.9 - 0.01 * number},
            loss_profile=(*profile, last if number == epochs - 1 else 3.0),
        )
        for number, epoch in enumerate(net.epochs([1.9] * epochs))
    ]


def test_losses_that_repeat_to_the_last_digit():
    verdict = found(net.started(), *varied(4))

    assert verdict is not None
    assert (verdict.detail, verdict.confidence) == ("all", "likely")
    assert "in all 4 epochs" in verdict.headline


def test_a_loop_that_updates_a_copy_of_the_model():
    told = [
        dataclasses.replace(look, gradient_norms=())
        for look in net.looks(updates=[0.0, 0.0, 0.004], has_gradient=[net.NAN] * 3)
    ]
    started = net.started(train_step="custom")

    verdict = found(started, *told, *net.epochs(net.STANDS))

    assert verdict is not None
    assert verdict.detail == "some"


class TestStaysSilent:
    def test_one_look_at_gradients_that_are_collected_or_too_small(self):
        for look in (
            net.look(40, updates=0.0),
            net.look(40, updates=[0.0, 0.004, 0.004], gradients=[1e-9, 0.5, 0.5]),
            net.look(40, updates=[0.0, 0.004, 0.004], has_gradient=[0, 1, 1]),
        ):
            assert found(net.started(), look, *net.epochs(net.LEARNS)) is None
        left_out = net.look(40, updates=[0.0, 0.004, 0.004])
        own = net.started(train_step="custom")
        assert found(own, left_out, *net.epochs(net.LEARNS)) is None

    def test_losses_that_differ_in_one_batch(self):
        outcome = ask(RULE, run_started(), net.started(), *varied(4, last=2.9))

        assert isinstance(outcome, NotMeasured)

    def test_a_loss_that_no_batch_changes(self):
        """The loss does not depend on the model: another rule's case."""
        outcome = ask(RULE, run_started(), net.started(), *net.epochs(net.STANDS))

        assert isinstance(outcome, NotMeasured)

    def test_weights_that_change(self):
        assert found(net.started(), *net.looks(), *net.epochs(net.STANDS)) is None

    def test_a_base_frozen_on_purpose(self):
        layers = (FROZEN[0], FROZEN[1], net.LAYERS[2])
        told = net.looks(updates=[0.0, 0.0, 0.004])

        assert found(net.started(layers), *told, *net.epochs(net.LEARNS)) is None

    def test_a_warm_up_from_zero(self):
        told = [
            *net.looks((0, 1, 3), updates=0.0, rate=0.0),
            *net.looks((10, 30), updates=0.001),
        ]

        assert found(net.started(), *told, *net.epochs(net.LEARNS)) is None

    def test_a_rate_that_decayed_to_zero(self):
        told = [*net.looks((0, 1)), *net.looks((100, 200, 300), updates=0.0, rate=0.0)]

        assert found(net.started(), *told, *net.epochs(net.LEARNS)) is None

    def test_gradients_that_are_collected_over_steps(self):
        """No look fell on a step that applied them, but the weights did change."""
        told = [
            net.look(step, updates=0.0, weights=4.0 + 0.01 * step)
            for step in (0, 1, 3, 10, 30)
        ]

        assert found(net.started(), *told, *net.epochs(net.LEARNS)) is None

    def test_steps_that_loss_scaling_skipped(self):
        told = net.looks(updates=0.0, gradients=float("inf"))

        assert found(net.started(), *told, *net.epochs(net.STANDS)) is None

    def test_a_loop_that_trains_only_its_head(self):
        told = net.looks(
            updates=[0.0, 0.0, 0.004],
            has_gradient=[net.NAN, net.NAN, 1],
            gradients=[net.NAN, net.NAN, 0.5],
        )

        assert found(net.started(), *told, *net.epochs(net.LEARNS)) is None

    def test_gradients_that_rest_beside_learning_in_a_step_of_its_own(self):
        told = net.looks(updates=[0.0, 0.0, 0.004], has_gradient=[net.NAN, 0, 1])
        started = net.started(train_step="custom")
        quiet = [dataclasses.replace(look, gradient_norms=()) for look in told]

        assert found(started, *quiet, *net.epochs(net.LEARNS)) is None

    def test_gradients_too_small_for_float32(self):
        told = net.looks(updates=[0.0, 0.004, 0.004], gradients=[1e-9, 0.5, 0.5])

        assert found(net.started(), *told, *net.epochs(net.STANDS)) is None

    def test_a_model_that_trains_what_it_does_not_list(self):
        assert found(net.started(FROZEN), *net.epochs(net.LEARNS)) is None

    def test_nothing_recorded(self):
        assert found() is None
        assert found(net.started()) is None


class TestAHeadThatALoopTrainsAlone:
    """Of three layers the first two rest, and the loss falls."""

    def judge(self, biases):
        rest = [
            dataclasses.replace(
                look,
                has_gradient=(math.nan,) * 4 + (1.0, 1.0),
                gradient_norms=(math.nan,) * 6,
                weight_norms=(4.0, biases, 4.0, biases, 4.0 + number, 0.1 * number),
            )
            for number, look in enumerate(net.looks(updates=[0.0, 0.0, 0.004]))
        ]
        return found(net.started(train_step="custom"), *rest, *net.epochs(net.LEARNS))

    def test_on_top_of_layers_that_were_never_trained(self):
        verdict = self.judge(0.0)

        assert (verdict.detail, verdict.severity) == ("some", "warning")
        assert "on top of random numbers" in verdict.evidence[1].text

    def test_on_top_of_layers_that_were(self):
        assert self.judge(0.3) is None


class TestEpochsThatBeginAnew:
    FALLS = (2.0, 1.9, 1.8, 1.7, 1.6, 1.5, 1.4, 1.3, 1.2)

    def judge(self, profiles, **settings):
        settings = {"shuffle": "True"} | settings
        told = [
            dataclasses.replace(epoch, loss_profile=tuple(profile))
            for epoch, profile in zip(
                net.epochs([sum(p) / len(p) for p in profiles]), profiles, strict=True
            )
        ]
        return found(net.started(**settings), *net.looks(), *told)

    def test_the_same_course_in_each(self):
        noise = [[n * k * 0.01 for n in range(9)] for k in (0, 1, -1, 0.5, -0.5)]
        rows = [[a + b for a, b in zip(self.FALLS, n, strict=True)] for n in noise]
        verdict = self.judge(rows)

        assert (verdict.detail, verdict.severity) == ("undone", "critical")
        assert "fell from about 1.9 to 1.3" in verdict.evidence[0].text

    def test_an_epoch_that_goes_on_where_the_last_one_ended(self):
        rows = [[loss * 0.6**n for loss in self.FALLS] for n in range(5)]

        assert self.judge(rows) is None

    def test_rows_in_the_same_order_may_get_easier(self):
        assert self.judge([self.FALLS] * 5, shuffle="False") is None

    def test_a_model_that_has_settled(self):
        rows = [self.FALLS, *[[1.2, 1.21, 1.19] * 3] * 4]

        assert self.judge(rows) is None

    def test_three_epochs(self):
        assert self.judge([self.FALLS] * 3) is None
