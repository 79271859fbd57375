"""Two runs, signal by signal: what differs, in which order, and what is said."""

import math

import numpy as np
import pytest

from tb_health_plugin.comparing import words
from tb_health_plugin.comparing.comparison import Comparison, compare
from tb_health_plugin.events import facts
from tb_health_plugin.events.columns import NOT_MEASURED
from tb_health_plugin.reading.run_history import Attempt, RunHistory
from tests.comparing.runs import BEGAN, falling_loss, memory, noise, run


def healthy(seed: int = 2, *, steps: int = 600, name: str = "b") -> RunHistory:
    return run(
        name,
        steps=steps,
        process_rss_bytes=memory(seed, steps),
        loss=falling_loss(seed, steps),
    )


def told(comparison: Comparison, *, to_explain: bool = True) -> words.Told:
    return words.tell(comparison, settings_differ=False, to_explain=to_explain)


def kinds(comparison: Comparison) -> dict[str, str]:
    return {one.signal.id: one.kind for one in comparison.compared}


class TestALeak:
    A = run(
        "a",
        steps=600,
        process_rss_bytes=memory(1, leak_from=400),
        loss=falling_loss(1),
    )

    def test_is_told_by_step(self):
        found = compare(self.A, healthy(), "step")

        assert kinds(found) == {
            "host_memory": "grows",
            "throughput": "alike",
            "loss": "alike",
        }
        (main, *_) = found.compared
        assert main is found.main
        assert main.begins is not None
        assert main.begins.step == pytest.approx(400, abs=12)
        assert main.begins.wall_time == pytest.approx(BEGAN + 400, abs=12)
        assert main.a_rate == pytest.approx(24 * 2**20, rel=0.05)
        said = told(found)
        assert said.headline == (
            f"The runs are alike until step {main.begins.x:,.0f}. "
            "Then host memory grows in A and not in B."
        )
        assert said.summary == (
            "A gains 24 MiB per step. B stays at 5.0 GiB. No other signal differs."
        )

    def test_is_told_by_time(self):
        said = told(compare(self.A, healthy(), "time"))

        assert "min" in said.headline
        assert "after the start" in said.headline
        assert "per minute" in said.summary

    def test_is_told_by_epoch(self):
        said = told(compare(self.A, healthy(), "epoch"))

        assert "alike until epoch 4" in said.headline.replace("epoch 3.9", "epoch 4")

    def test_is_told_from_the_end(self):
        a = run("a", process_rss_bytes=memory(1, leak_from=400))
        b = run("b", steps=900, process_rss_bytes=memory(2, 900))

        said = told(compare(a, b, "end"))

        assert said.headline.startswith("The runs are alike until 3 min")
        assert "before the end. Then host memory grows in A" in said.headline

    def test_of_the_other_run_is_told_of_the_other_run(self):
        found = compare(healthy(), self.A, "step")

        assert found.main is not None
        assert not found.main.higher

    def test_rests_on_what_both_have(self):
        assert compare(self.A, healthy(steps=300), "step").main is None


class TestNumbersThatAreNone:
    @staticmethod
    def with_loss(name: str, loss: np.ndarray) -> RunHistory:
        return run(name, steps=len(loss), loss=loss)

    def test_the_first_nan_is_a_difference(self):
        bad = falling_loss(1)
        bad[407:] = math.nan

        found = compare(self.with_loss("a", bad), healthy(), "step")

        assert found.main is not None
        assert (found.main.kind, found.main.of) == ("not_finite", "a")
        assert found.main.begins is not None
        assert found.main.begins.step == 408
        assert told(found).headline == (
            "The runs are alike until step 408. "
            "Then loss becomes NaN in A and not in B."
        )

    def test_what_rose_before_it_became_infinite_is_told_as_one(self):
        bad = falling_loss(1)
        bad[350:500] *= np.exp(np.arange(150) / 20)
        bad[500:] = math.inf

        found = compare(self.with_loss("a", bad), healthy(), "step")

        assert found.main is not None
        assert found.main.begins is not None
        assert found.main.begins.step < 400
        assert found.main.turns_bad is not None
        assert found.main.turns_bad.step == 501
        assert "loss rises in A and becomes infinite." in told(found).headline

    def test_in_both_runs_they_are_no_difference(self):
        bad = falling_loss(1)
        bad[500:] = math.nan

        found = compare(self.with_loss("a", bad), self.with_loss("b", bad), "step")

        assert found.main is None

    def test_in_b_alone_they_are_told_of_b(self):
        bad = falling_loss(1)
        bad[500:] = math.nan

        found = compare(healthy(), self.with_loss("b", bad), "step")

        assert "becomes NaN in B and not in A" in told(found).headline

    def test_after_the_end_of_the_other_run_they_tell_nothing(self):
        bad = falling_loss(1)
        bad[500:] = math.nan

        assert (
            compare(self.with_loss("a", bad), healthy(steps=300), "step").main is None
        )

    def test_their_exact_step_is_taken_where_it_was_found(self):
        bad = facts.FirstBadNumber(
            wall_time=BEGAN + 410, step=410, bad_step=405, seen_in="loss", value="nan"
        )
        loss = falling_loss(1)
        loss[409:] = math.nan
        a = run("a", bad, loss=loss)

        found = compare(a, healthy(), "step")

        assert found.main is not None
        assert found.main.begins is not None
        assert found.main.begins.step == 405

    def test_what_was_not_measured_is_not_nan(self):
        loss = falling_loss(1)
        loss[::2] = NOT_MEASURED

        assert compare(self.with_loss("a", loss), healthy(), "step").main is None


class TestWhatIsSaid:
    def test_equal_runs_are_alike(self):
        found = compare(healthy(3, name="a"), healthy(4), "step")

        assert told(found, to_explain=False).headline == (
            "The runs are alike: no signal differs."
        )

    def test_finding_nothing_in_a_run_that_failed_is_no_good_news(self):
        found = compare(healthy(3, name="a"), healthy(4), "step")
        said = words.tell(found, settings_differ=True, to_explain=True)

        assert said.headline == (
            "No signal differs enough to explain it. See the settings."
        )

    def test_from_the_first_step(self):
        a = run("a", process_rss_bytes=3 * memory(1), loss=falling_loss(1))

        said = told(compare(a, healthy(), "step"))

        assert said.headline == (
            "The runs differ from the first step: host memory is 3.0x higher in A."
        )
        assert said.summary == (
            "Host memory: 15.0 GiB in A, 5.0 GiB in B. No other signal differs."
        )

    def test_shares_are_told_as_shares(self):
        waits = {
            name: np.cumsum(share + 0.01 * np.abs(noise(seed)))
            for seed, (name, share) in enumerate({"a": 0.6, "b": 0.05}.items())
        }
        a, b = (run(name, data_waited_seconds=waited) for name, waited in waits.items())

        said = told(compare(a, b, "step"))

        assert said.headline == (
            "The runs differ from the first step: "
            "waiting for data is 61% in A and 6% in B."
        )

    def test_what_the_verdict_rests_on_comes_before_what_differs_earlier(self):
        a = run(
            "a",
            process_rss_bytes=memory(1, leak_from=400),
            loss=5 * falling_loss(1),
        )

        found = compare(a, healthy(), "step", explains={"host_memory"})
        said = told(found)

        assert [one.signal.id for one in found.compared][:2] == ["loss", "host_memory"]
        assert "alike" not in said.headline
        assert said.headline.endswith("host memory grows in A and not in B.")
        assert "From the first step, loss is" in said.summary

    def test_many_times_the_steps_are_minded(self):
        found = compare(healthy(1, steps=100, name="a"), healthy(steps=3_000), "step")

        assert told(found).note == (
            "B has 30x as many steps as the other run: only the part that both have is "
            "compared."
        )

    def test_nothing_in_common(self):
        found = compare(run("a", steps=3), run("b", steps=3), "step")

        assert told(found).headline == (
            "The runs have too little in common to be compared."
        )

    def test_a_signal_that_one_run_does_not_have(self):
        a = run("a", loss=falling_loss(1), temperature_celsius=60 + noise(1))
        found = compare(a, healthy(), "step")

        last = [words.what(one, found) for one in found.compared][-2:]
        assert sorted(last) == ["only recorded in A", "only recorded in B"]


class TestAlignment:
    def test_without_epochs_the_runs_are_aligned_by_time(self):
        bare = [RunHistory(name, [Attempt("a1")]) for name in "ab"]
        for history in bare:
            assert history.latest is not None
            history.latest.samples.append(
                {"wall_time": BEGAN + np.arange(50.0), "loss": falling_loss(1, 50)}
            )

        for align in ("step", "epoch"):
            found = compare(bare[0], bare[1], align)  # type: ignore[arg-type]
            assert found.align == "time"
            assert "aligned by time" in (told(found).note or "")

    def test_epochs_of_other_lengths_lie_on_each_other(self):
        def trained(name: str, steps_per_epoch: int, seed: int) -> RunHistory:
            steps = 6 * steps_per_epoch
            ends = [
                facts.EpochEnded(
                    wall_time=BEGAN + end,
                    step=end,
                    epoch=epoch,
                    first_step=end - steps_per_epoch,
                    last_step=end,
                )
                for epoch, end in enumerate(
                    range(steps_per_epoch, steps + 1, steps_per_epoch)
                )
            ]
            course = 2 * np.exp(-np.linspace(0, 3, steps)) + 0.1
            loss = course * np.exp(0.05 * noise(seed, steps))
            return run(name, *ends, steps=steps, loss=loss)

        a, b = trained("a", 100, 1), trained("b", 400, 2)

        assert kinds(compare(a, b, "epoch"))["loss"] == "alike"
        assert kinds(compare(a, b, "step"))["loss"] != "alike"

    def test_losses_of_epochs_are_taken_where_samples_have_none(self):
        def profiled(name: str, scale: float) -> RunHistory:
            ends = [
                facts.EpochEnded(
                    wall_time=BEGAN + 100 * (epoch + 1),
                    step=100 * (epoch + 1),
                    epoch=epoch,
                    first_step=100 * epoch,
                    last_step=100 * (epoch + 1),
                    started_at=BEGAN + 100 * epoch,
                    loss_profile=tuple(scale * falling_loss(epoch, 64)),
                )
                for epoch in range(6)
            ]
            return run(name, *ends)

        assert (
            kinds(compare(profiled("a", 1), profiled("b", 1), "step"))["loss"]
            == "alike"
        )
        found = compare(profiled("a", 4), profiled("b", 1), "step")
        assert found.main is not None
        assert found.main.signal.id == "loss"
