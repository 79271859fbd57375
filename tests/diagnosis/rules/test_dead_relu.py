"""A layer is dead if it gives out 0 for every row, always; sparse ones are healthy."""

from tb_health_plugin.diagnosis.rules.dead_relu import RULE
from tb_health_plugin.diagnosis.verdict import Verdict
from tb_health_plugin.events import facts
from tests.diagnosis.rules import networks as net
from tests.diagnosis.rules.histories import ask, run_started

FROM_START = net.looks(
    gradients=[0.0, 0.0, 0.5], output_dead_fractions=(1.0, 0.2, 0.0), loss=1.0
)
DIED = [
    *net.looks((0, 1, 3), output_dead_fractions=(0.0, 0.1, 0.0)),
    *net.looks(
        (10, 30, 100), gradients=[0.0, 0.0, 0.5], output_dead_fractions=(0, 1, 0)
    ),
]


def found(*told: facts.Fact) -> Verdict | None:
    outcome = ask(RULE, run_started(), *told)
    assert outcome is None or isinstance(outcome, Verdict)
    return outcome


def test_dead_from_the_start():
    verdict = found(net.started(), *FROM_START, *net.epochs(net.STANDS))

    assert verdict is not None
    assert (verdict.detail, verdict.confidence) == ("from_start", "proven")
    assert verdict.cause_at.step == 0
    assert verdict.severity == "critical"
    assert verdict.place == {"layer": "one"}
    assert verdict.headline == (
        "All 16 units of one gave out 0 for every input, from the first step"
    )
    assert "bias" in verdict.fixes[0].title


def test_the_far_negative_bias_is_named():
    told = net.looks(
        gradients=[0.0, 0.0, 0.5],
        weights=[100.0, 4.0, 4.0],
        output_dead_fractions=(1.0, 0.2, 0.0),
    )

    verdict = found(net.started(), *told, *net.epochs(net.STANDS))

    assert verdict is not None
    assert any("Its bias is about 25 in size" in e.text for e in verdict.evidence)


def test_died_on_the_way():
    verdict = found(net.started(), *DIED, *net.epochs(net.STANDS))

    assert verdict is not None
    assert (verdict.detail, verdict.cause_at.step) == ("died", 10)
    assert "Lower the learning rate from 0.001" in verdict.fixes[0].title


def test_a_single_look_at_the_end_does_not_tell_when_it_died():
    told = net.look(300, gradients=[0.0, 0.0, 0.5], output_dead_fractions=(1, 0, 0))

    verdict = found(net.started(), told, *net.epochs(net.STANDS))

    assert verdict is not None
    assert verdict.detail == "when_unknown"
    assert "since step 300 or before" in verdict.headline
    assert verdict.confidence == "likely"


def test_nobody_looked_but_the_bias_leaves_no_doubt():
    far = net.dense("one", settings={"bias_initializer": "Constant(value=-25.0)"})

    verdict = found(
        net.started((far, *net.LAYERS[1:])), net.batch(), *net.epochs(net.STANDS)
    )

    assert verdict is not None
    assert (verdict.detail, verdict.confidence) == ("from_start", "likely")
    assert verdict.place == {"layer": "one"}


def test_a_dead_layer_beside_a_loss_that_falls_is_a_warning():
    verdict = found(net.started(), *DIED, *net.epochs(net.LEARNS))

    assert verdict is not None
    assert verdict.severity == "warning"


def test_an_activation_behind_its_weights():
    layers = (
        net.dense("one", activation="linear"),
        net.dense("act", kind="ReLU", activation="relu"),
        net.dense("out", 1, "linear", is_output=True),
    )
    started = net.started(layers)
    bare = tuple(v for v in started.variables if v.layer != "act")
    started = facts.TrainingStarted(
        wall_time=started.wall_time,
        training=0,
        first_step=0,
        settings=started.settings,
        layers=started.layers,
        variables=bare,
    )
    told = net.looks(
        kernels=2,
        gradients=[0.0, 0.5],
        output_dead_fractions=(0, 1, 0),
        loss=1.0,
    )

    assert found(started, *told, *net.epochs(net.STANDS)) is not None


def test_nearly_all_units_in_a_run_that_does_not_learn():
    told = net.looks(
        gradients=[0.01, 0.01, 0.5], output_dead_fractions=(0.0, 0.97, 0), loss=1.0
    )

    verdict = found(net.started(), *told, *net.epochs(net.STANDS))

    assert verdict is not None
    assert verdict.confidence == "likely"


RELU_AT_THE_END = (*net.LAYERS[:2], net.dense("out", 1, "relu", is_output=True))


def test_nothing_moves_behind_a_relu_at_the_end_of_a_loop():
    told = net.looks(updates=0.0, gradients=net.NAN)

    verdict = found(net.started(RELU_AT_THE_END), *told, *net.epochs(net.STANDS))

    assert verdict is not None
    assert (verdict.detail, verdict.confidence) == ("output", "likely")
    assert verdict.place == {"layer": "out"}
    assert "softplus" in (verdict.fixes[0].code or "")


class TestStaysSilent:
    def test_a_wide_sparse_layer_that_learns(self):
        told = net.looks(output_dead_fractions=(0.9, 0.97, 0.0))

        assert found(net.started(), *told, *net.epochs(net.LEARNS)) is None

    def test_a_batch_of_zeros_now_and_then(self):
        told = [
            net.look(s, gradients=[0.0, 0.5, 0.5], output_dead_fractions=(d, 0, 0))
            for s, d in ((0, 1.0), (1, 0.3), (3, 1.0), (10, 0.2), (30, 1.0), (100, 0.1))
        ]

        assert found(net.started(), *told, *net.epochs(net.LEARNS)) is None

    def test_a_layer_that_came_back(self):
        told = [
            *FROM_START[:3],
            *net.looks((10, 30), output_dead_fractions=(0.1, 0, 0)),
        ]

        assert found(net.started(), *told, *net.epochs(net.STANDS)) is None

    def test_a_resting_model_whose_end_is_no_relu_or_got_a_gradient(self):
        still = net.looks(updates=0.0, gradients=net.NAN)
        moved = net.looks(updates=0.0, gradients=0.2)
        some = [*net.looks(updates=[0.0, 0.0, 0.1], weights=[4.0, 4.0, 4.0])]

        assert found(net.started(), *still, *net.epochs(net.STANDS)) is None
        for told in (moved, some):
            assert (
                found(net.started(RELU_AT_THE_END), *told, *net.epochs(net.STANDS))
                is None
            )
        assert (
            found(net.started(RELU_AT_THE_END), *still, *net.epochs(net.LEARNS)) is None
        )

    def test_weights_that_a_penalty_crushed(self):
        told = [
            net.look(
                step,
                gradients=[0.0, 0.0, 0.1],
                weights=4.0 * 0.01**index,
                output_dead_fractions=(1, 1, 0),
            )
            for index, step in enumerate((0, 10, 30, 100))
        ]

        assert found(net.started(), *told, *net.epochs(net.STANDS)) is None

    def test_activations_that_cannot_die(self):
        smooth = (net.dense("one", activation="gelu"), *net.LAYERS[1:])
        leaky = (
            net.dense("one", kind="ReLU", settings={"negative_slope": "0.1"}),
            *net.LAYERS[1:],
        )
        for layers in (smooth, leaky):
            assert (
                found(net.started(layers), *FROM_START, *net.epochs(net.STANDS)) is None
            )

    def test_zeros_after_the_weights_became_nan(self):
        assert (
            found(net.started(), *FROM_START, net.bad_number(44), *net.nan_epochs())
            is None
        )

    def test_nothing_recorded(self):
        assert found() is None
        assert found(net.started()) is None
