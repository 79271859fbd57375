"""Variables without a gradient are named; frozen and unused ones are no alarm."""

from tb_health_plugin.diagnosis.rules.no_gradient import RULE
from tb_health_plugin.diagnosis.verdict import Verdict
from tb_health_plugin.events import facts
from tests.diagnosis.rules import networks as net
from tests.diagnosis.rules.histories import START, ask, run_started

CUT = net.looks(
    has_gradient=[0, 0, 1],
    gradients=[net.NAN, net.NAN, 0.5],
    updates=[0.0, 0.0, 0.004],
)
WARNED = facts.ProgramSaid(
    wall_time=START,
    message="Gradients do not exist for variables ['model/one/kernel', "
    "'model/one/bias'] when minimizing the loss. If using `model.compile()`, did you "
    "forget to provide a `loss` argument?",
)


def found(*told: facts.Fact) -> Verdict | None:
    outcome = ask(RULE, run_started(), *told)
    assert outcome is None or isinstance(outcome, Verdict)
    return outcome


def test_a_step_of_ones_own_may_give_gradients_at_other_times():
    own = net.started(train_step="custom")

    verdict = found(own, *CUT, WARNED, *net.epochs(net.LEARNS))

    assert verdict is not None
    assert verdict.confidence == "likely"


def test_a_cut_in_the_middle():
    verdict = found(net.started(), *CUT, WARNED, *net.epochs(net.LEARNS))

    assert verdict is not None
    assert (verdict.severity, verdict.confidence) == ("warning", "proven")
    assert (
        verdict.headline == "4 of 6 variables never received a gradient (one and two)"
    )
    assert "out" in verdict.fixes[0].title
    assert any("Keras warned" in e.text for e in verdict.evidence)


def test_a_run_that_does_not_learn_because_of_it():
    verdict = found(net.started(), *CUT, *net.epochs(net.STANDS))

    assert verdict is not None
    assert verdict.severity == "critical"


def test_only_the_warning_of_keras_is_there():
    verdict = found(net.started(), WARNED, *net.epochs(net.LEARNS))

    assert verdict is not None
    assert verdict.confidence == "likely"
    assert verdict.place["layer"] == "one"


def test_a_small_unused_part_that_learns_is_only_a_note():
    """The pooler of a pretrained model."""
    layers = (net.dense("one", 200), net.dense("two", 200), net.dense("unused", 2))

    verdict = found(
        net.started(layers),
        *net.looks(has_gradient=[1, 1, 0], updates=[0.004, 0.004, 0.0]),
        *net.epochs(net.LEARNS),
    )

    assert verdict is not None
    assert verdict.severity == "info"


class TestStaysSilent:
    def test_gradients_everywhere(self):
        assert found(net.started(), *net.looks(), *net.epochs(net.STANDS)) is None

    def test_a_base_frozen_on_purpose(self):
        frozen = (net.dense("one", trainable=False), *net.LAYERS[1:])
        told = net.looks(has_gradient=[net.NAN, 1, 1], updates=[0.0, 0.004, 0.004])

        assert found(net.started(frozen), *told, *net.epochs(net.LEARNS)) is None

    def test_variables_that_another_optimizer_moves(self):
        """A GAN: each look sees the gradients of one of its two steps."""
        told = net.looks(has_gradient=[0, 0, 1], updates=0.004)

        assert found(net.started(), *told, *net.epochs(net.LEARNS)) is None

    def test_variables_that_a_loop_does_not_give_to_its_optimizer(self):
        told = [
            net.look(0, has_gradient=[net.NAN, 1, 1], updates=[0.0, 0.004, 0.004]),
            *net.looks((3, 10, 30), has_gradient=[0, 1, 1], updates=[0.0, 0.1, 0.1]),
        ]

        assert (
            found(net.started(train_step="custom"), *told, *net.epochs(net.LEARNS))
            is None
        )

    def test_a_gradient_that_is_missing_now_and_then(self):
        told = [
            *net.looks((0, 3, 30), has_gradient=[0, 1, 1]),
            *net.looks((1, 10), has_gradient=[1, 1, 1]),
        ]

        assert found(net.started(), *told, *net.epochs(net.LEARNS)) is None

    def test_nothing_measured_in_the_variables(self):
        told = net.looks(has_gradient=net.NAN, updates=[0.0, 0.0, 0.0])

        assert found(net.started(), *told, *net.epochs(net.LEARNS)) is None

    def test_nothing_recorded(self):
        assert found() is None
        assert found(net.started()) is None
