"""The operation that made the first NaN is named; other causes of NaN are not its."""

import dataclasses
import math

import pytest

from tb_health_plugin.diagnosis.rules.nan_op import RULE
from tb_health_plugin.diagnosis.verdict import Verdict
from tb_health_plugin.events import facts
from tests.diagnosis.rules import networks as net
from tests.diagnosis.rules.histories import ask, run_started


def found(*told: facts.Fact) -> Verdict | None:
    outcome = ask(RULE, run_started(), *told)
    assert outcome is None or isinstance(outcome, Verdict)
    return outcome


def test_a_layer_that_makes_it():
    bad = net.bad_number(44, began_in="layer", name="two", kind="Log", op="Log", row=5)

    verdict = found(net.started(), bad, *net.nan_epochs())

    assert verdict is not None
    assert verdict.headline == "The first NaN came up in layer two at step 44"
    assert verdict.confidence == "proven"
    assert verdict.severity == "critical"
    assert verdict.place == {"layer": "two", "op": "Log", "row": 5}
    assert "155 more steps" in verdict.evidence[-1].text


@pytest.mark.parametrize("began_in", ["loss", "gradient", "update"])
def test_other_places(began_in: str):
    verdict = found(
        net.started(), net.bad_number(44, began_in=began_in), *net.nan_epochs()
    )

    assert verdict is not None
    assert verdict.detail == began_in


def test_float16_is_named_with_its_epsilon():
    half = net.started(
        dtype="float16", dtype_policy="float16", **{"optimizer.epsilon": "1e-08"}
    )

    verdict = found(half, net.bad_number(44, began_in="update"), *net.nan_epochs())

    assert verdict is not None
    assert verdict.detail == "float16"
    assert "mixed_float16" in (verdict.fixes[0].code or "")
    assert any("1e-08, is 0" in e.text for e in verdict.evidence)


def test_a_batch_on_another_scale():
    bad = net.bad_number(
        37, began_in="layer", name="one", input_scale=240.0, usual_input_scale=4.0
    )

    verdict = found(net.started(), bad, *net.nan_epochs())

    assert verdict is not None
    assert verdict.detail == "input_scale"
    assert "60x" in verdict.evidence[0].text


def test_a_loss_that_only_the_epochs_show():
    ended = net.epochs([0.5, 0.4, math.nan, math.nan])

    verdict = found(net.started(loss="my_loss"), *net.looks(), *ended)

    assert verdict is not None
    assert verdict.confidence == "possible"
    assert verdict.cause_at.epoch == 3


def test_a_loss_that_was_never_seen_as_a_number():
    ended = net.epochs([math.nan] * 3)

    verdict = found(net.started(loss="my_loss"), *ended)

    assert verdict is not None
    assert verdict.headline.startswith("The loss was NaN when it was first seen")
    assert "normal" not in verdict.because


def test_gradients_that_rise_towards_a_pole_are_no_blow_up():
    bad = net.bad_number(
        44, began_in="gradient", gradient_norms_before=(1.0, 1.0, 90.0, 4e4)
    )

    assert found(net.started(), bad, *net.nan_epochs()) is not None


class TestStaysSilent:
    def test_a_loss_that_stays_finite(self):
        assert found(net.started(), *net.looks(), *net.epochs(net.LEARNS)) is None

    def test_a_step_that_loss_scaling_skipped(self):
        bad = net.bad_number(2, seen_in="gradient", began_in="gradient", value="inf")

        assert (
            found(net.started(), bad, net.look(30, loss=0.5), *net.epochs(net.LEARNS))
            is None
        )

    def test_a_skipped_step_without_later_looks(self):
        bad = net.bad_number(2, seen_in="gradient", began_in="gradient", value="inf")

        assert found(net.started(), bad, *net.epochs(net.LEARNS)) is None

    def test_losses_that_grew_before(self):
        bad = net.bad_number(9, losses_before=(5.0, 300.0, 9e8, 3e28))

        assert found(net.started(), bad, *net.nan_epochs()) is None

    def test_data_that_held_it(self):
        bad = net.bad_number(9, began_in="input")

        assert found(net.started(), bad, *net.nan_epochs()) is None

    def test_a_training_without_losses(self):
        assert found(net.started()) is None
        assert found() is None


@pytest.mark.parametrize(
    ("loss", "code"),
    [("binary_crossentropy", "from_logits=True"), ("my_poisson", "ops.maximum")],
)
def test_the_line_to_paste_belongs_to_the_loss(loss: str, code: str):
    bad = net.bad_number(44, began_in="loss")

    verdict = found(net.started(loss=loss), bad, *net.nan_epochs())

    assert verdict is not None
    assert code in (verdict.fixes[0].code or "")


def test_a_loop_of_ones_own_has_no_callbacks():
    begun = dataclasses.replace(net.started(), loop="loop")

    verdict = found(begun, net.bad_number(44, began_in="loss"), *net.nan_epochs())

    assert verdict is not None
    assert verdict.fixes[-1].code == "if not np.isfinite(loss): break"
