"""Why gradients were not measured: nobody looked, or a look was not possible."""

from tb_health_plugin.diagnosis.rules.no_gradient import RULE
from tb_health_plugin.diagnosis.verdict import NotMeasured
from tb_health_plugin.events import facts
from tests.diagnosis.rules import networks as net
from tests.diagnosis.rules.histories import START, ask, run_started


def missing(*told: facts.Fact) -> NotMeasured:
    outcome = ask(RULE, run_started(), net.started(), *told, *net.epochs(net.LEARNS))
    assert isinstance(outcome, NotMeasured)
    return outcome


def given_up(what: str, why: str) -> facts.RecordingStopped:
    return facts.RecordingStopped(wall_time=START, step=3, what=what, why=why)


def test_nobody_looked():
    assert "HealthCallback" in (missing().enable or "")


def test_a_step_with_side_effects_is_told_as_that():
    told = missing(
        given_up(
            "gradients, weights and outputs of layers",
            "a training step has the operation PyFunc",
        )
    )

    assert told.why == "a training step has the operation PyFunc"
    assert "Python functions out of the training step" in (told.enable or "")


def test_a_look_that_failed_needs_no_callback():
    told = missing(given_up("close looks at weights and gradients", "OSError: full"))

    assert (told.why, told.enable) == ("OSError: full", None)


def test_another_gap_says_nothing_of_gradients():
    told = missing(given_up("samples of the watcher", "OSError: full"))

    assert told == missing()
