"""Initial weights are bad if units cannot become different, or nothing gets through."""

from tb_health_plugin.diagnosis.rules.bad_init import RULE
from tb_health_plugin.diagnosis.verdict import Verdict
from tb_health_plugin.events import facts
from tests.diagnosis.rules import networks as net
from tests.diagnosis.rules import outcomes
from tests.diagnosis.rules.histories import ask, run_started


def made_by(*initializers: str) -> tuple[dict, ...]:
    names = ("one", "two", "out")
    return tuple(
        net.dense(name, is_output=name == "out", settings={"kernel_initializer": made})
        for name, made in zip(names, initializers, strict=True)
    )


# 256 weights of 1 have a norm of 16.
ONES = 16.0


def found(*told: facts.Fact) -> Verdict | None:
    outcome = ask(RULE, run_started(), *told)
    assert outcome is None or isinstance(outcome, Verdict)
    return outcome


def test_zeros_that_nothing_can_move():
    zeros = made_by("Zeros()", "Zeros()", "Zeros()")
    told = net.looks(gradients=0.0, weights=0.0, updates=0.0, loss=1.0)

    verdict = found(net.started(zeros), *told, *net.epochs(net.STANDS))

    assert verdict is not None
    assert (verdict.detail, verdict.confidence) == ("zeros", "proven")
    assert "dead_relu" in verdict.explains


def test_all_weights_equal():
    ones = made_by("Ones()", "Ones()", "Ones()")

    verdict = found(
        net.started(ones), *net.looks(weights=ONES), *net.epochs(net.LEARNS)
    )

    assert verdict is not None
    assert (verdict.detail, verdict.severity) == ("equal", "warning")


def test_a_constant_in_two_neighbours_of_a_run_that_does_not_learn():
    layers = made_by("Constant(value=0.1)", "Constant(value=0.1)", "GlorotUniform()")
    told = net.looks(weights=[1.6, 1.6, 4.0], loss=1.0)

    verdict = found(net.started(layers), *told, *net.epochs(net.STANDS))

    assert verdict is not None
    assert verdict.severity == "critical"
    assert verdict.place == {"layer": "one"}


def test_weights_far_too_large():
    """256 weights of 2 each: 8 times what keeps the scale of 16 inputs."""
    told = net.looks(weights=32.0, loss=1.0)

    verdict = found(net.started(made_by("", "", "")), *told, *net.epochs(net.STANDS))

    assert verdict is not None
    assert verdict.detail == "too_large"
    assert "8x too large in 3 of 3 layers" in verdict.headline


def test_an_initializer_far_too_large_that_nobody_looked_at():
    layers = made_by(*["RandomNormal(mean=0.0, stddev=2.0)"] * 3)

    verdict = found(net.started(layers), *net.epochs(net.STANDS))

    assert verdict is not None
    assert verdict.detail == "too_large"


def test_weights_that_were_nan_before_the_first_step():
    bad = net.bad_number(
        0, began_in="weights", losses_before=(), name="model/one/kernel"
    )

    verdict = found(net.started(), bad, *net.nan_epochs())

    assert verdict is not None
    assert verdict.detail == "nan_weights"


class TestStaysSilent:
    def test_a_last_layer_of_zeros(self):
        layers = made_by("GlorotUniform()", "GlorotUniform()", "Zeros()")
        told = [
            net.look(0, weights=[4, 4, 0], gradients=[0, 0, 0.5]),
            *net.looks((1, 3, 10, 30), weights=[4.0, 4.0, 0.1]),
        ]

        assert found(net.started(layers), *told, *net.epochs(net.LEARNS)) is None

    def test_residual_branches_that_begin_at_zero_and_learn(self):
        layers = made_by("Zeros()", "Zeros()", "GlorotUniform()")
        told = [
            net.look(0, weights=[0, 0, 4], gradients=[0.5, 0.5, 0.5]),
            *net.looks((1, 3, 10, 30), weights=[0.1, 0.1, 4.0]),
        ]

        assert found(net.started(layers), *told, *net.epochs(net.LEARNS)) is None

    def test_weights_loaded_over_a_constant(self):
        layers = made_by("Zeros()", "Zeros()", "Zeros()")

        assert found(net.started(layers), *net.looks(), *net.epochs(net.STANDS)) is None

    def test_an_odd_scale_that_learns(self):
        told = net.looks(weights=60.0)

        assert found(net.started(), *told, *net.epochs(net.LEARNS)) is None

    def test_one_layer_on_another_scale(self):
        told = net.looks(weights=[60.0, 4.0, 4.0], loss=1.0)

        assert (
            found(net.started(made_by("", "", "")), *told, *net.epochs(net.STANDS))
            is None
        )

    def test_weights_that_shrank_later(self):
        told = [net.look(0), *net.looks((10, 30, 100), weights=1e-9)]

        assert found(net.started(), *told, *net.epochs(net.STANDS)) is None

    def test_weights_thrown_away_by_the_first_update(self):
        """A learning rate does that, and the look came after it."""
        told = net.looks((2, 3), weights=900.0, updates=1e6, loss=1.0)

        assert found(net.started(), *told, *net.epochs(net.STANDS)) is None

    def test_a_first_look_that_came_late(self):
        told = net.looks((30, 100), weights=60.0, loss=1.0)

        assert found(net.started(), *told, *net.epochs(net.STANDS)) is None

    def test_nan_out_of_an_operation(self):
        told = net.looks(weights=60.0)

        assert (
            found(net.started(), *told, net.bad_number(44), *net.nan_epochs()) is None
        )

    def test_nothing_recorded(self):
        assert found() is None
        assert found(net.started()) is None


class TestEqualWeightsThatNobodySawAtTheStart:
    def judge(self, start):
        hidden = [
            outcomes.layer(name, settings={"kernel_initializer": "Constant(value=0.1)"})
            for name in ("one", "two")
        ]
        told = outcomes.training(
            loss="sparse_categorical_crossentropy",
            activation="softmax",
            units=4,
            target=outcomes.labels({0.0: 8, 1.0: 8, 2.0: 8, 3.0: 8}, (32,)),
            hidden=hidden,
            output={"settings": {"kernel_initializer": "Constant(value=0.1)"}},
            variables=[
                facts.Variable(name=f"{n}/kernel", layer=n, size=64, trainable=True)
                for n in ("one", "two", "out")
            ],
            metrics={"loss": [1.2, 1.1, 1.0, 0.95, 0.9]},
            profiles=[[start, 1.2], [1.1], [1.0], [0.95], [0.9]],
            more=[
                facts.Inspected(
                    wall_time=9.0, step=80, training=0, weight_norms=(2.0, 2.0, 2.0)
                )
            ],
        )
        return outcomes.found(RULE, told)

    def test_a_run_that_began_by_guessing(self):
        verdict = self.judge(1.39)

        assert (verdict.detail, verdict.severity) == ("equal", "warning")

    def test_trained_weights_were_loaded_instead(self):
        assert self.judge(0.7) is None
