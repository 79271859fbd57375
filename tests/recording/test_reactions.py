"""Reactions: off unless asked for, and then done between two steps."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from demo.tensorboard_server import wait_until
from tb_health_plugin import diagnose, watch
from tb_health_plugin.events.stop_words import FAMILIES, NAN, stop_words
from tb_health_plugin.recording import attempts, process_end
from tb_health_plugin.recording.guard import Guard
from tb_health_plugin.recording.process_end import ProcessEnd
from tb_health_plugin.recording.reactions import Reactions

GUARD = Guard(lambda what, why: None)


def told(kind: str = "opened", severity: str = "warning", id: str = "memory_leak"):
    return {"kind": kind, "finding": {"id": id, "severity": severity}}


class TestWords:
    def test_a_family_stands_for_its_verdicts(self):
        assert stop_words(["memory", "nan"]) == {NAN, *FAMILIES["memory"]}

    @pytest.mark.parametrize("given", [["memori"], ["host_oom"], "nan"])
    def test_nonsense_is_an_error(self, given):
        with pytest.raises(ValueError, match="stop_on"):
            stop_words(given)

    def test_a_hang_cannot_stop_itself(self):
        with pytest.raises(ValueError, match="give on_finding a command"):
            stop_words(["input_hang"])


class TestReactions:
    def test_nothing_is_done_unless_asked_for(self):
        reactions = Reactions()
        reactions.saw_nan()
        reactions._heard(told(), GUARD)

        assert reactions.stop_for is None

    def test_stops_for_what_was_asked(self):
        reactions = Reactions(["memory"])

        reactions._heard(told(id="input_bound"), GUARD)
        assert reactions.stop_for is None
        reactions._heard(told(severity="info"), GUARD)
        assert reactions.stop_for is None
        reactions._heard(told(kind="closed"), GUARD)
        assert reactions.stop_for is None
        reactions._heard(told(), GUARD)
        assert reactions.stop_for == "memory_leak"

    def test_a_function_hears_all_of_it_and_may_fail(self):
        heard = []

        def listen(one):
            heard.append(one["kind"])
            raise RuntimeError("mine")

        reactions = Reactions(on_finding=listen)
        for kind in ("opened", "changed", "closed", "ended"):
            reactions._heard(told(kind), GUARD)

        assert heard == ["opened", "changed", "closed"]

    def test_a_save_that_fails_stops_all_the_same(self):
        reactions = Reactions(["nan"], "last.keras")
        reactions.saw_nan()

        assert reactions.carry_out(object(), GUARD) == "nan"

    @pytest.mark.parametrize(
        ("given", "says"),
        [
            ({"save_before_stop": "a.keras"}, "needs stop_on"),
            ({"on_finding": "notify"}, "a command as a list"),
        ],
    )
    def test_nonsense_is_an_error(self, given, says):
        with pytest.raises(ValueError, match=says):
            Reactions(**given)


@pytest.fixture
def own_process(monkeypatch):
    monkeypatch.setattr(attempts, "_attempts", {})
    monkeypatch.setattr(process_end, "_listeners", [])
    monkeypatch.setattr(process_end, "_seen", None)
    yield
    process_end._tell(ProcessEnd(reason="finished", happened_at=1.0))


def test_a_loss_that_is_no_number_stops_the_training(tmp_path: Path, own_process):
    keras = pytest.importorskip("keras")
    from tb_health_plugin import HealthCallback

    saved = tmp_path / "last.keras"
    health = HealthCallback(
        tmp_path / "run", watcher=False, stop_on=["nan"], save_before_stop=saved
    )
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    x = np.full((640, 4), np.nan, "float32")

    history = model.fit(x, x[:, :1], epochs=9, verbose=0, callbacks=[health])
    process_end._tell(ProcessEnd(reason="finished", happened_at=1.0))

    assert len(history.epoch) == 1
    assert saved.exists()
    wait_until(lambda: diagnose(tmp_path)["state"] == "ended_early")
    answer = diagnose(tmp_path)
    assert answer["verdict"]["id"] == "bad_input_values"
    assert "callback_stop" not in [one["id"] for one in answer["findings"]]


class Saves:
    """A model, as far as a loop without a framework has one."""

    name = "mine"

    def save(self, path: str) -> None:
        Path(path).write_text("saved")


class TestLoops:
    def test_a_loop_is_told_to_stop(self, tmp_path: Path, own_process):
        saved = tmp_path / "last.model"
        with watch(
            tmp_path / "run",
            model=Saves(),
            watcher=False,
            stop_on=["nan"],
            save_before_stop=saved,
        ) as health:
            for step in range(40):
                health.step(loss=math.nan if step == 25 else 1.0)
                if health.should_stop:
                    break

        assert (step, saved.read_text()) == (25, "saved")
        process_end._tell(ProcessEnd(reason="finished", happened_at=1.0))
        wait_until(lambda: diagnose(tmp_path)["state"] == "ended_early")
        answer = diagnose(tmp_path)
        assert "callback_stop" not in [one["id"] for one in answer["findings"]]

    def test_a_wish_that_nobody_heard_is_no_stop(self, tmp_path: Path, own_process):
        with watch(tmp_path / "run", watcher=False, stop_on=["nan"]) as health:
            for step in range(40):
                health.step(loss=math.nan if step == 25 else 1.0)

        process_end._tell(ProcessEnd(reason="finished", happened_at=1.0))
        wait_until(lambda: diagnose(tmp_path)["state"] == "finished")
        assert diagnose(tmp_path)["step"] == 40

    def test_a_loop_with_nothing_found_goes_on(self, tmp_path: Path, own_process):
        with watch(tmp_path / "run", watcher=False, stop_on=["nan"]) as health:
            for _ in range(40):
                health.step(loss=1.0)
                assert not health.should_stop

    def test_a_save_needs_one_model(self, tmp_path: Path):
        with pytest.raises(ValueError, match="needs one model"):
            watch(tmp_path, stop_on=["nan"], save_before_stop="a.keras")


@pytest.mark.live
def test_a_command_hears_what_is_found_and_how_it_ended(tmp_path: Path):
    """A real training with a slow callback, followed from outside."""
    program = Path(__file__).parent / "slow_trainer.py"
    heard = tmp_path / "heard.jsonl"
    done = subprocess.run(
        [sys.executable, str(program), str(tmp_path / "run"), str(heard)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["stopped_after"] < 40
    wait_until(lambda: '"ended"' in heard.read_text(), seconds=60)
    lines = [json.loads(line) for line in heard.read_text().splitlines()]
    found = [(one["kind"], (one["finding"] or {}).get("id")) for one in lines]
    assert ("opened", "slow_callback") in found
    assert lines[-1]["kind"] == "ended"
    answer = diagnose(tmp_path / "run")
    assert answer["state"] == "ended_early"
    assert answer["verdict"]["id"] == "slow_callback"
