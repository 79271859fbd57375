"""NaN in the data is told from NaN that the training made itself."""

import dataclasses
import math

import pytest

from tb_health_plugin.diagnosis.rules.bad_input_values import RULE
from tb_health_plugin.diagnosis.verdict import Verdict
from tb_health_plugin.events import facts
from tests.diagnosis.rules import networks as net
from tests.diagnosis.rules.histories import ask, run_started, training_ended

BAD_X = {"nonfinite_count": 1, "bad_row": 3}


def found(*told: facts.Fact) -> Verdict | None:
    outcome = ask(RULE, run_started(), *told)
    assert outcome is None or isinstance(outcome, Verdict)
    return outcome


def test_a_nan_in_the_batch_of_the_first_bad_step():
    bad = net.bad_number(
        44, began_in="input", name="x", row=3, fields=net.batch(44, x=BAD_X).fields
    )

    verdict = found(net.started(), bad, *net.nan_epochs())

    assert verdict is not None
    assert verdict.severity == "critical"
    assert verdict.confidence == "proven"
    assert verdict.headline == "NaN values in the inputs reached the model at step 44"
    assert verdict.place == {"field": "x", "row": 3}
    assert verdict.cause_at.step == 44
    assert (
        "1 of 320 numbers in x is NaN or infinite, first in row 3"
        in verdict.evidence[0].text
    )
    assert {"nan_op", "callback_stop"} <= set(verdict.explains)


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        (
            {"data.kind": "tf.data"},
            "dataset = dataset.unbatch().filter(\n"
            '    lambda x, y: tf.reduce_all(tf.math.is_finite(x["income"]))).batch(32)',
        ),
        (
            {"data.kind": "arrays"},
            'good = np.isfinite(x["income"].reshape(len(x["income"]), -1))'
            ".all(axis=1)\n"
            "x = {name: one[good] for name, one in x.items()}\n"
            "y = y[good]",
        ),
    ],
)
def test_one_of_several_inputs_by_name(settings, code):
    (field, *_) = net.batch(44, x=BAD_X).fields
    named = dataclasses.replace(field, name="income")
    bad = net.bad_number(44, began_in="input", name="income", fields=(named,))

    verdict = found(net.started(**settings), bad, *net.nan_epochs())

    assert verdict is not None
    assert verdict.fixes[0].code == code


def test_infinite_targets():
    bad = net.bad_number(
        10, began_in="target", value="inf", fields=net.batch(10, y=BAD_X).fields
    )

    verdict = found(net.started(), bad, *net.nan_epochs())

    assert verdict is not None
    assert verdict.detail == "target"
    assert "Infinite numbers in the targets" in verdict.headline


def test_a_bad_batch_seen_before_a_step_that_nobody_could_look_at():
    bad = net.bad_number(44, began_in="unknown", exact=False)

    verdict = found(net.started(), net.batch(44, x=BAD_X), bad, *net.nan_epochs())

    assert verdict is not None
    assert verdict.confidence == "likely"


def test_a_rectifier_that_swallows_the_nan_does_not_hide_it():
    """Its weights are NaN, and the loss is that of a constant answer."""
    bad = net.bad_number(44, began_in="input", fields=net.batch(44, x=BAD_X).fields)
    after = net.look(100, loss=2.3, weights=[math.inf, 4.0, 4.0])

    verdict = found(net.started(), bad, after, *net.epochs([0.5, 2.3, 2.3, 2.3]))

    assert verdict is not None
    assert verdict.severity == "critical"


def test_a_training_that_got_over_it_is_only_a_note():
    bad = net.bad_number(44, began_in="input", fields=net.batch(44, x=BAD_X).fields)

    verdict = found(
        net.started(), bad, net.look(100, loss=0.4), *net.epochs(net.LEARNS)
    )

    assert verdict is not None
    assert verdict.severity == "info"


def test_masked_marks_for_missing_values_are_only_a_note():
    verdict = found(net.started(), net.batch(0, y=BAD_X), *net.epochs(net.LEARNS))

    assert verdict is not None
    assert (verdict.severity, verdict.detail) == ("info", "masked")
    assert verdict.fixes[0].code == "print(np.argwhere(~np.isfinite(y))[:10])"


def test_validation_alone_is_nan():
    ended = [
        facts.EpochEnded(
            wall_time=e.wall_time,
            step=e.step,
            training=0,
            epoch=e.epoch,
            metrics={**e.metrics, "val_loss": math.nan},
            validation_steps=5,
        )
        for e in net.epochs(net.LEARNS)
    ]

    verdict = found(net.started(), *ended)

    assert verdict is not None
    assert (verdict.detail, verdict.severity) == ("validation", "warning")
    assert verdict.confidence == "possible"


def test_nothing_else_in_a_plain_model_can_make_a_nan():
    bad = net.bad_number(31, began_in="unknown", exact=False)

    verdict = found(net.started(), net.batch(), bad, *net.nan_epochs())

    assert verdict is not None
    assert (verdict.detail, verdict.confidence) == ("unseen", "possible")
    assert verdict.headline.startswith("Probably NaN in the data")


def test_weights_that_are_nan_behind_a_loss_that_is_not():
    bad = net.bad_number(
        310,
        seen_in="weight",
        began_in="weights",
        exact=False,
        bad_variables=("dense/kernel",),
        steps_before=(20,),
        losses_before=(0.2,),
        gradient_norms_before=(1.0,),
    )

    verdict = found(net.started(), net.batch(), bad, *net.epochs([0.5, 5.0, 5.0, 5.0]))

    assert verdict is not None
    assert (verdict.detail, verdict.confidence) == ("unseen", "possible")
    assert verdict.headline == (
        "Probably NaN in the data: dense/kernel became NaN after step 20"
    )
    assert not any("TerminateOnNaN" in (fix.code or "") for fix in verdict.fixes)


class TestStaysSilent:
    def test_an_unseen_nan_in_a_model_with_parts_of_its_own(self):
        bad = net.bad_number(31, began_in="unknown", exact=False)
        own = (net.dense("log", kind="Log"), *net.LAYERS)

        for started in (net.started(own), net.started(loss="my_loss")):
            assert found(started, bad, *net.nan_epochs()) is None

    def test_an_unseen_nan_that_may_come_from_a_class_out_of_range(self):
        bad = net.bad_number(31, began_in="unknown", exact=False)
        started = net.started(loss="sparse_categorical_crossentropy")

        assert found(started, net.batch(targets=7.0), bad, *net.nan_epochs()) is None

    def test_clean_data(self):
        assert found(net.started(), net.batch(), *net.epochs(net.LEARNS)) is None

    def test_a_nan_that_a_layer_made(self):
        bad = net.bad_number(44, began_in="layer", name="one")

        assert found(net.started(), net.batch(), bad, *net.nan_epochs()) is None

    def test_a_bad_batch_that_came_after_the_first_bad_number(self):
        bad = net.bad_number(44, began_in="loss")

        assert (
            found(net.started(), net.batch(90, x=BAD_X), bad, *net.nan_epochs()) is None
        )

    def test_a_validation_without_batches(self):
        ended = net.epochs(net.LEARNS, val_loss=[math.nan] * 6)

        assert found(net.started(), *ended) is None

    def test_nothing_recorded(self):
        assert found() is None
        assert found(net.started(), training_ended(1, 0)) is None
