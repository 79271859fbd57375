"""Gradients vanish only where a run does not learn; deep networks that do are fine."""

from tb_health_plugin.diagnosis.rules.vanishing_gradients import RULE
from tb_health_plugin.diagnosis.verdict import Verdict
from tb_health_plugin.events import facts
from tests.diagnosis.rules import networks as net
from tests.diagnosis.rules.histories import ask, run_started

DEEP = (
    *(net.dense(f"h{n}", activation="sigmoid") for n in range(8)),
    net.dense("out", 1, "linear", is_output=True),
)
FADING = [10.0**-n for n in range(8, -1, -1)]
TANH = (
    net.dense("one", activation="tanh"),
    net.dense("two", activation="tanh"),
    net.dense("out", 10, "softmax", is_output=True),
)


def deep(gradients: object = None, **more: object) -> list[facts.Inspected]:
    return net.looks(kernels=9, gradients=gradients or FADING, **more)


def found(*told: facts.Fact) -> Verdict | None:
    outcome = ask(RULE, run_started(), *told)
    assert outcome is None or isinstance(outcome, Verdict)
    return outcome


def test_gradients_that_fade_towards_the_first_layers():
    verdict = found(net.started(DEEP), *deep(), *net.epochs(net.STANDS))

    assert verdict is not None
    assert (verdict.detail, verdict.confidence) == ("faded", "likely")
    assert verdict.place == {"layer": "h0"}
    assert "Gradients are near zero in 7 of 9 layers" in verdict.headline
    assert "relu instead of sigmoid" in verdict.fixes[0].title
    assert "not_learning" in verdict.explains


def test_a_mild_case_is_only_possible():
    mild = [0.001, 0.002, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0]

    verdict = found(net.started(DEEP), *deep(mild), *net.epochs(net.STANDS))

    assert verdict is not None
    assert verdict.confidence == "possible"


def test_nobody_looked_at_a_long_row_of_sigmoids():
    verdict = found(net.started(DEEP), *net.epochs(net.STANDS))

    assert verdict is not None
    assert (verdict.detail, verdict.confidence) == ("sigmoids", "possible")


def test_layers_at_the_ends_of_their_range():
    told = net.looks(output_saturated_fractions=(0.95, 0.97, 0.3), loss=1.0)

    verdict = found(net.started(TANH), *told, *net.epochs(net.STANDS))

    assert verdict is not None
    assert verdict.detail == "saturation"
    assert "97% of what two (tanh)" in verdict.evidence[1].text


# A first output that is far off is mended by the last layer alone.
SETTLES = (1.6, 0.7, 0.7, 0.7, 0.7, 0.7, 0.7, 0.7, 0.7, 0.7)


def test_a_loss_that_fell_in_the_first_steps_only():
    verdict = found(net.started(DEEP), *deep(loss=1.6), *net.epochs(SETTLES))

    assert verdict is not None
    assert verdict.confidence == "likely"
    assert (
        "came to 0.7 in the first steps, and stayed there" in verdict.evidence[-1].text
    )


class TestStaysSilent:
    def test_a_loss_that_settled_while_many_layers_learned(self):
        mild = [1e-4, 1e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0]
        told = net.epochs(SETTLES)

        assert found(net.started(DEEP), *deep(mild, loss=1.6), *told) is None
        assert found(net.started(DEEP), *told) is None

    def test_a_deep_network_that_learns_all_the_same(self):
        assert found(net.started(DEEP), *deep(), *net.epochs(net.LEARNS)) is None

    def test_mild_decay_in_a_run_that_does_not_learn(self):
        decay = [0.1, 0.1, 0.2, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0]

        assert found(net.started(DEEP), *deep(decay), *net.epochs(net.STANDS)) is None

    def test_gradients_that_are_exactly_zero(self):
        dead = [0.0] * 8 + [1.0]

        assert found(net.started(DEEP), *deep(dead), *net.epochs(net.STANDS)) is None

    def test_one_odd_layer(self):
        odd = [1e-9] + [0.5] * 8

        assert found(net.started(DEEP), *deep(odd), *net.epochs(net.STANDS)) is None

    def test_a_saturated_output(self):
        told = net.looks(output_saturated_fractions=(0.1, 0.1, 0.99), loss=1.0)

        assert found(net.started(TANH), *told, *net.epochs(net.STANDS)) is None

    def test_saturated_layers_that_learn(self):
        told = net.looks(output_saturated_fractions=(0.95, 0.97, 0.99))

        assert found(net.started(TANH), *told, *net.epochs(net.LEARNS)) is None

    def test_saturation_that_wore_off(self):
        told = [
            *net.looks((0, 1, 3), output_saturated_fractions=(0.99, 0.99, 0.0)),
            *net.looks((10, 30, 100), output_saturated_fractions=(0.2, 0.2, 0.0)),
        ]

        assert found(net.started(TANH), *told, *net.epochs(net.STANDS)) is None

    def test_a_short_run(self):
        told = deep()[:3]

        assert found(net.started(DEEP), *told, *net.epochs([1, 1], steps=4)) is None

    def test_nothing_recorded(self):
        assert found() is None
        assert found(net.started(DEEP)) is None
