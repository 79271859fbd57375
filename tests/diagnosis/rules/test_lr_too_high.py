"""A learning rate is too high if updates destroy the weights; noise is none."""

import math

from tb_health_plugin.diagnosis.rules.lr_too_high import RULE
from tb_health_plugin.diagnosis.verdict import NotMeasured, Verdict
from tb_health_plugin.events import facts
from tests.diagnosis.rules import networks as net
from tests.diagnosis.rules.histories import ask, run_started

SGD_3 = {"optimizer": "SGD", "optimizer.learning_rate": "3.0"}
ADAM_03 = {"optimizer": "Adam", "optimizer.learning_rate": "0.3"}
GREW = net.bad_number(
    4,
    value="inf",
    losses_before=(5.0, 316.0, 8.7e8, 3.4e28),
    gradient_norms_before=(4.7, 224.0, 1.9e7, 8.5e21),
    input_scale=3.3,
    usual_input_scale=3.0,
)
THROWN = [
    net.look(0, loss=2.4, updates=6.0, rate=0.3),
    net.look(1, loss=4.1, updates=2.6, rate=0.3),
    *net.looks((3, 10, 30, 100), loss=4.0, updates=0.4, rate=0.3),
]
JUMPS = (4.3, 3.5, 3.5, 3.7, 3.7, 3.4)


def found(*told: facts.Fact) -> Verdict | None:
    outcome = ask(RULE, run_started(), *told)
    assert outcome is None or isinstance(outcome, Verdict)
    return outcome


def test_a_loss_that_grew_until_it_broke():
    verdict = found(net.started(**SGD_3), net.batch(), GREW, *net.nan_epochs())

    assert verdict is not None
    assert verdict.detail == "blew_up"
    assert (verdict.severity, verdict.confidence) == ("critical", "likely")
    assert verdict.cause_at.step == 0
    assert verdict.headline.endswith("at step 4 (learning rate 3)")
    assert verdict.fixes[0].code == "keras.optimizers.SGD(learning_rate=0.01)"
    assert {"nan_op", "exploding_gradients"} <= set(verdict.explains)


def test_a_loss_that_ran_away_below_zero_is_not_said_to_grow():
    bad = net.bad_number(
        4,
        value="inf",
        losses_before=(0.7, -40.0, -9.1e6, -3.4e28),
        gradient_norms_before=(4.7, 224.0, 1.9e7, 8.5e21),
    )
    verdict = found(net.started(**SGD_3), net.batch(), bad, *net.nan_epochs())

    assert verdict is not None
    assert verdict.headline.startswith("The loss fell without end, to -3e28, then")
    assert "grew" not in verdict.because
    assert verdict.cause_at.step == 0
    assert "-9e6, -3e28" in verdict.evidence[0].text


def test_a_loss_below_zero_that_came_up_again_grew():
    bad = net.bad_number(
        4,
        value="inf",
        losses_before=(-3.0, -40.0, 8.7e8, 3.4e28),
        gradient_norms_before=(4.7, 224.0, 1.9e7, 8.5e21),
    )
    verdict = found(net.started(**SGD_3), net.batch(), bad, *net.nan_epochs())

    assert verdict is not None
    assert verdict.headline.startswith("The loss grew ")


def test_a_loss_cut_off_at_its_top_blows_up_in_its_gradients():
    bad = net.bad_number(
        6,
        losses_before=(2.3, 9.0, 14.0, 16.1),
        gradient_norms_before=(1.0, 90.0, 7e3, 1e6),
    )

    assert found(net.started(**SGD_3), bad, *net.nan_epochs()) is not None


def test_one_update_that_broke_everything():
    first = net.look(0, loss=2.0, updates=4e9)
    bad = net.bad_number(1, losses_before=(2.0,), gradient_norms_before=(1.0,))

    assert found(net.started(**SGD_3), first, bad, *net.nan_epochs()) is not None


def test_a_loss_that_jumps_about_above_its_start():
    verdict = found(net.started(**ADAM_03), *THROWN, *net.epochs(JUMPS))

    assert verdict is not None
    assert verdict.detail == "never_settles"
    assert verdict.severity == "warning"
    assert "2.4" in verdict.headline
    assert "1.5x their own size" in verdict.evidence[0].text


def test_a_loss_that_jumps_about_without_any_look_is_only_possible():
    verdict = found(net.started(**ADAM_03), *net.epochs([1.0, 4.3, 3.5, 3.7, 3.6, 3.5]))

    assert verdict is not None
    assert verdict.confidence == "possible"


def test_a_finite_blow_up_is_critical():
    verdict = found(net.started(**ADAM_03), *THROWN, *net.epochs([9e5] * 6))

    assert verdict is not None
    assert verdict.severity == "critical"


def test_data_that_was_never_scaled_makes_it_only_possible():
    verdict = found(
        net.started(**SGD_3), net.batch(inputs=5_000.0), GREW, *net.nan_epochs()
    )

    assert verdict is not None
    assert verdict.confidence == "possible"


def test_without_looks_it_says_so():
    outcome = ask(RULE, run_started(), net.started(), *net.epochs(net.STANDS))

    assert isinstance(outcome, NotMeasured)


class TestStaysSilent:
    def test_a_high_rate_that_learns(self):
        assert (
            found(net.started(**ADAM_03), *THROWN[:2], *net.epochs(net.LEARNS)) is None
        )

    def test_a_loss_that_rises_by_design(self):
        """KL annealing, a curriculum: the updates stay small."""
        ended = net.epochs([0.5, 1.0, 2.0, 4.0, 8.0, 16.0])

        assert found(net.started(), *net.looks(loss=0.5), *ended) is None

    def test_weights_that_begin_near_zero(self):
        first = net.look(0, loss=0.5, weights=0.001, updates=0.004)
        ended = net.epochs([0.5, 1.0, 2.0, 4.0, 8.0, 16.0])

        assert (
            found(net.started(), first, *net.looks((30, 100), loss=1.0), *ended) is None
        )

    def test_single_losses_far_above_the_rest(self):
        spikes = [
            facts.EpochEnded(
                wall_time=e.wall_time,
                step=e.step,
                training=0,
                epoch=e.epoch,
                first_step=e.first_step,
                last_step=e.last_step,
                metrics=e.metrics,
                loss_profile=(1.0, 80.0, 0.9, 1.1, 30.0, 0.8, 0.9, 0.7),
            )
            for e in net.epochs(net.LEARNS)
        ]

        assert found(net.started(), *net.looks(), *spikes) is None

    def test_a_nan_out_of_the_blue(self):
        assert (
            found(net.started(**SGD_3), net.bad_number(44), *net.nan_epochs()) is None
        )

    def test_a_nan_in_the_data(self):
        bad = net.bad_number(44, began_in="input", losses_before=(1.0, 500.0))

        assert found(net.started(**SGD_3), bad, *net.nan_epochs()) is None

    def test_gradients_that_were_huge_from_the_first_step(self):
        first = net.look(0, loss=6e9, gradients=3e11, updates=1e8)
        bad = net.bad_number(1, losses_before=(6e9,), gradient_norms_before=(3e11,))

        assert found(net.started(), first, bad, *net.nan_epochs()) is None

    def test_a_smoke_test(self):
        assert (
            found(net.started(**ADAM_03), *THROWN[:2], *net.epochs([4.0, 4.0], steps=4))
            is None
        )

    def test_a_gan_without_a_loss(self):
        ended = [
            facts.EpochEnded(
                wall_time=e.wall_time,
                step=e.step,
                training=0,
                epoch=e.epoch,
                metrics={"d_loss": 1.3, "g_loss": 0.7},
            )
            for e in net.epochs(net.STANDS)
        ]

        assert found(net.started(), *net.looks(loss=math.nan), *ended) is None

    def test_nothing_recorded(self):
        assert found() is None
        assert found(net.started()) is None


# The variance of the targets is 1: that is the loss of a constant answer.
ROWS = [net.batch(step) for step in range(6)]
SMALL_STEPS = net.looks(updates=0.1, rate=0.5)
SGD_05 = {"optimizer": "SGD", "optimizer.learning_rate": "0.5"}


def test_a_loss_that_stays_far_above_a_constant_answer_at_a_high_rate():
    told = net.epochs((1.1, 2.4, 3.1, 2.7, 3.5, 3.2))

    verdict = found(net.started(**SGD_05), *ROWS, *SMALL_STEPS, *told)

    assert verdict is not None
    assert (verdict.detail, verdict.confidence) == ("never_settles", "likely")
    assert "constant answer" in verdict.because
    assert "as large as the weights" not in verdict.fixes[0].why
    assert "not_learning" in verdict.explains


def test_the_same_at_a_usual_rate_has_another_cause():
    looks = net.looks(updates=0.1, rate=0.01)
    usual = {"optimizer": "SGD", "optimizer.learning_rate": "0.01"}
    told = net.epochs((1.1, 2.4, 3.1, 2.7, 3.5, 3.2))

    assert found(net.started(**usual), *ROWS, *looks, *told) is None


def test_a_curriculum_at_a_high_rate_stays_below_a_constant_answer():
    told = net.epochs((0.2, 0.1, 0.4, 0.5, 0.6, 0.7))

    assert found(net.started(**SGD_05), *ROWS, *SMALL_STEPS, *told) is None


def test_a_high_rate_with_a_loss_of_the_programs_own_is_not_compared():
    told = net.epochs((1.1, 2.4, 3.1, 2.7, 3.5, 3.2))
    begun = net.started(**{**SGD_05, "loss": "contrastive"})

    assert found(begun, *ROWS, *SMALL_STEPS, *told) is None
