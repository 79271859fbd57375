"""Gradients explode if they are huge before any update; large data is another cause."""

from tb_health_plugin.diagnosis.rules.exploding_gradients import RULE
from tb_health_plugin.diagnosis.verdict import Verdict
from tb_health_plugin.events import facts
from tests.diagnosis.rules import networks as net
from tests.diagnosis.rules.histories import ask, run_started

SGD = {"optimizer": "SGD", "optimizer.learning_rate": "0.001"}
RECURRENT = (
    net.dense("rnn", kind="SimpleRNN", activation="tanh"),
    net.dense("two"),
    net.dense("out", 1, "linear", is_output=True),
)
HUGE = net.look(0, loss=6e9, gradients=[3e9, 1e8, 1e7], updates=3e6)
BROKE = net.bad_number(1, losses_before=(6e9,), gradient_norms_before=(3e9,))


def found(*told: facts.Fact) -> Verdict | None:
    outcome = ask(RULE, run_started(), *told)
    assert outcome is None or isinstance(outcome, Verdict)
    return outcome


def test_a_recurrent_net_that_breaks_after_its_first_step():
    verdict = found(
        net.started(RECURRENT, **SGD), net.batch(), HUGE, BROKE, *net.nan_epochs()
    )

    assert verdict is not None
    assert (verdict.severity, verdict.detail) == ("critical", "first_step")
    assert verdict.place == {"layer": "rnn"}
    assert verdict.fixes[0].code == (
        "keras.optimizers.SGD(learning_rate=0.001, clipnorm=1.0)"
    )
    assert "nan_op" in verdict.explains


def test_only_the_steps_before_were_seen():
    bad = net.bad_number(
        3, losses_before=(9e6, 1e9, 1e20), gradient_norms_before=(1e8, 1e12, 1e30)
    )

    assert found(net.started(**SGD), bad, *net.nan_epochs()) is not None


def test_a_recurrent_net_that_falls_off_a_cliff_at_a_normal_rate():
    bad = net.bad_number(
        900, losses_before=(0.5, 0.5, 0.6, 4e5), gradient_norms_before=(1, 1, 9e3, 8e9)
    )

    verdict = found(net.started(RECURRENT, **SGD), net.look(0), bad, *net.nan_epochs())

    assert verdict is not None
    assert verdict.detail == "recurrent"


def test_huge_gradients_in_a_run_that_does_not_learn():
    told = [HUGE, *net.looks((10, 30, 100), loss=6e9, gradients=3e9)]

    verdict = found(net.started(**SGD), net.batch(), *told, *net.epochs([6e9] * 6))

    assert verdict is not None
    assert verdict.severity == "warning"


def test_gradients_that_no_loss_of_its_size_makes():
    seen = net.looks((30, 100), loss=1.0, gradients=9e9)

    verdict = found(
        net.started(RECURRENT), net.batch(), *seen, *net.epochs([1.0, 1.1, 1.0] * 2)
    )

    assert verdict is not None
    assert (verdict.detail, verdict.severity) == ("later", "warning")
    assert verdict.headline.startswith("Gradients were huge at step 30: norm ")
    assert verdict.cause_at.step == 30


class TestStaysSilent:
    def test_immense_gradients_of_a_run_that_learns(self):
        seen = net.looks((30, 100), loss=1.0, gradients=9e9)

        assert found(net.started(RECURRENT), *seen, *net.epochs(net.LEARNS)) is None

    def test_immense_gradients_of_a_loss_that_is_immense(self):
        seen = net.looks((30, 100), loss=1e9, gradients=9e9)

        assert found(net.started(), *seen, *net.epochs([1e9] * 6)) is None

    def test_huge_gradients_that_are_clipped_and_learn(self):
        clipped = net.started(RECURRENT, **SGD, **{"optimizer.clipnorm": "1.0"})

        assert found(clipped, HUGE, *net.epochs(net.LEARNS)) is None

    def test_targets_in_the_thousands(self):
        prices = net.batch(targets=300_000.0)

        assert found(net.started(**SGD), prices, HUGE, BROKE, *net.nan_epochs()) is None

    def test_normal_gradients_that_grow_from_update_to_update(self):
        bad = net.bad_number(
            4, losses_before=(5.0, 3e2, 9e8), gradient_norms_before=(5.0, 2e2, 2e7)
        )
        rate = {"optimizer": "SGD", "optimizer.learning_rate": "3.0"}

        assert found(net.started(**rate), net.look(0), bad, *net.nan_epochs()) is None

    def test_a_recurrent_net_at_a_very_high_rate(self):
        bad = net.bad_number(
            4, losses_before=(5.0, 3e2, 9e8), gradient_norms_before=(5.0, 2e2, 2e7)
        )
        rate = {"optimizer": "Adam", "optimizer.learning_rate": "5.0"}

        assert found(net.started(RECURRENT, **rate), bad, *net.nan_epochs()) is None

    def test_noisy_gradients(self):
        told = [net.look(step, norm=10.0 ** (step % 3)) for step in range(12)]

        assert found(net.started(), *told, *net.epochs(net.LEARNS)) is None

    def test_nothing_recorded(self):
        assert found() is None
        assert found(net.started()) is None
