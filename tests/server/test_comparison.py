"""`GET /compare`: which run is picked, and the states in which nothing is compared."""

from pathlib import Path

import numpy as np
import pytest

from tb_health_plugin.events import facts
from tb_health_plugin.reading.library import Library
from tb_health_plugin.reading.log_directory import Root
from tb_health_plugin.server.comparison import compare_runs
from tb_health_plugin.server.errors import RequestError
from tb_health_plugin.server.view import View

GIB = float(1 << 30)


def told(*end: facts.Fact, program: str = "train.py", **settings: str):
    return [
        facts.RunStarted(wall_time=1_000.0, pid=1, program=program),
        facts.TrainingStarted(
            wall_time=1_000.0, training=0, planned_epochs=1, settings=settings
        ),
        *end,
    ]


FINISHED = (
    facts.TrainingEnded(wall_time=1_400.0, step=400, training=0, epochs_done=1),
    facts.RunEnded(wall_time=1_400.0, step=400, reason="finished"),
)
KILLED = (
    facts.ProcessEnded(
        wall_time=1_400.0, step=400, signal=9, seen_by="pidfd", cgroup_oom_kills=1
    ),
)


def samples(seed: int, *, leak_from: int = 400):
    noise = np.random.default_rng(seed).normal(size=400)
    for at in range(400):
        held = 2 * GIB * (1 + 0.005 * noise[at]) + max(0, at - leak_from) * GIB / 20
        yield 1_001.0 + at, {"step": at + 1, "process_rss_bytes": held}


@pytest.fixture
def view(logs: Path, write_attempt) -> View:
    leaking = list(samples(1, leak_from=200))
    write_attempt("bad", told=told(*KILLED, batch_size="512"), samples=leaking)
    write_attempt("far", told=told(*FINISHED, loss="x"), samples=list(samples(2)))
    near = told(*FINISHED, batch_size="128")
    write_attempt("near", told=near, samples=list(samples(3)))
    write_attempt("bad2", told=told(*KILLED, batch_size="512"), samples=leaking)
    other = told(*KILLED, program="other.py")
    write_attempt("other", told=other, samples=list(samples(4)))
    (logs / "unmonitored").mkdir()
    (logs / "unmonitored" / "events.out.tfevents.1").touch()
    made = View(Library([Root(logs)]), clock=lambda: 9_000.0)
    made.refresh()
    return made


def test_a_healthy_run_with_the_nearest_settings_is_picked(view: View):
    found = compare_runs(view, "bad", None, "step")

    assert found["b"] is not None
    assert found["b"]["name"] == "near"
    assert found["picked"] is not None
    assert "train.py" in found["picked"]
    assert found["first"] == "host_memory"
    assert "host memory grows in A and not in B" in found["headline"]
    assert [one["name"] for one in found["settings"]] == ["batch_size"]


def test_sentences_call_the_other_by_its_letter(view: View):
    found = compare_runs(view, "bad", "near", "step", "c")

    assert "host memory grows in A and not in C" in found["headline"]
    with pytest.raises(RequestError, match="none of b, c"):
        compare_runs(view, "bad", "near", "step", "x")


def test_a_run_that_was_asked_for_was_not_picked(view: View):
    found = compare_runs(view, "bad", "far", "step")

    assert found["b"] is not None
    assert (found["b"]["name"], found["picked"]) == ("far", None)


def test_without_a_healthy_run_of_the_program_the_answer_is_calm(view: View):
    found = compare_runs(view, "other", None, "step")

    assert (found["b"], found["clocks"], found["signals"]) == (None, None, [])
    assert found["headline"] == "There is no healthy run to compare with yet."


@pytest.mark.parametrize("pair", [("bad", "unmonitored"), ("unmonitored", "bad")])
def test_a_run_without_health_data_cannot_be_compared(view: View, pair):
    found = compare_runs(view, *pair, "step")

    assert found["clocks"] is None
    assert found["summary"] == 'No health data was recorded for "unmonitored".'


def test_two_bad_runs_that_do_the_same_have_no_difference(view: View):
    found = compare_runs(view, "bad", "bad2", "step")

    assert found["first"] is None
    assert found["headline"] == "No signal differs enough to explain it."


def test_a_run_beside_itself_is_alike(view: View):
    assert compare_runs(view, "near", "near", "time")["first"] is None


def test_lanes_stand_in_the_order_of_the_signals(view: View):
    found = compare_runs(view, "bad", None, "step")

    lanes = [lane["id"] for lane in found["lanes"]]
    assert lanes == [one["id"] for one in found["signals"]]
    assert all(lane["in_a"] and lane["in_b"] for lane in found["lanes"])
