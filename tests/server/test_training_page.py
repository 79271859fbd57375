"""What is inside a training: layers, data, time, phases, raw events."""

import math
from pathlib import Path
from typing import Any

import pytest

from tb_health_plugin.events import facts
from tb_health_plugin.reading.library import Library
from tb_health_plugin.reading.log_directory import Root
from tb_health_plugin.reading.run_history import Attempt
from tb_health_plugin.reading.table import TIME
from tb_health_plugin.server import training_page
from tb_health_plugin.server.errors import RequestError
from tb_health_plugin.server.incidents import threads_in
from tb_health_plugin.server.lanes import losses
from tb_health_plugin.server.phases import phases
from tb_health_plugin.server.raw_events import MOST_CHARACTERS, raw_events
from tb_health_plugin.server.training_page import MOST_LOOKS, training
from tb_health_plugin.server.view import View

BEGUN = facts.TrainingStarted(
    wall_time=1.0,
    training=0,
    layers=(facts.Layer(name="dense"), facts.Layer(name="frozen")),
    variables=(
        facts.Variable(name="kernel", layer="dense", size=6),
        facts.Variable(name="bias", layer="dense", size=2),
        facts.Variable(name="kernel", layer="frozen", size=6),
    ),
)


def look(step: int, *norms: float) -> facts.Inspected:
    return facts.Inspected(
        wall_time=float(step),
        step=step,
        training=0,
        has_gradient=(1.0, 1.0, 0.0),
        gradient_norms=norms,
    )


@pytest.fixture
def view_of(logs: Path, write_attempt) -> Any:
    def make(*told: facts.Fact) -> View:
        start = facts.RunStarted(wall_time=0.5, pid=1)
        write_attempt("run", told=[start, *told])
        view = View(Library([Root(logs)]), clock=lambda: 1e9)
        view.refresh()
        return view

    return make


def test_a_layer_has_the_norm_of_all_its_variables(view_of):
    dense, frozen = training(view_of(BEGUN, look(3, 3.0, 4.0, 0.0)), "run")["layers"]

    assert dense["gradient_norms"] == [5.0]
    assert dense["parameters"] == 8
    assert frozen["gradient_norms"] == [None]


def test_looks_are_joined_and_no_spike_is_lost(view_of, monkeypatch):
    monkeypatch.setattr(training_page, "MOST_LOOKS", 2)
    norms = [1.0, 9.0, 1.0, math.nan, 2.0]
    view = view_of(BEGUN, *(look(at, norm, 0.0, 0.0) for at, norm in enumerate(norms)))

    told = training(view, "run")

    assert told["looks"]["step"] == [1, 4]
    first, second = told["layers"][0]["gradient_norms"]
    assert first == 9.0
    assert second is not None
    assert math.isnan(second)
    assert MOST_LOOKS > 2


def test_a_run_without_a_training_has_nothing_inside(view_of):
    told = training(view_of(), "run")

    assert told["layers"] == []
    assert told["time"] == []
    assert told["data"]["fields"] == []


def test_time_that_nothing_accounts_for_is_said(view_of):
    spent = facts.TimeSpent(
        wall_time=9.0,
        seconds=10.0,
        wait_seconds=2.0,
        step_seconds=5.0,
        callback_seconds={"Slow": 1.0},
    )

    parts = training(view_of(BEGUN, spent), "run")["time"]

    assert [part["what"] for part in parts] == [
        "Training steps",
        "Waiting for data",
        "Callback Slow",
        "Everything else",
    ]
    assert sum(part["seconds"] for part in parts) == pytest.approx(10.0)


def epoch(number: int, **more: Any) -> facts.EpochEnded:
    return facts.EpochEnded(
        wall_time=10.0 * (number + 1),
        step=4 * (number + 1),
        training=0,
        epoch=number,
        first_step=4 * number,
        last_step=4 * (number + 1),
        started_at=10.0 * number,
        **more,
    )


def test_validation_stands_at_the_end_of_its_epoch():
    attempt = Attempt("a")
    attempt.add(facts.RunStarted(wall_time=-5.0, pid=1))
    for number in (0, 1):
        attempt.add(epoch(number))
        attempt.add(
            facts.TimeSpent(
                wall_time=10.0 * (number + 1),
                training=0,
                epoch=number,
                since=10.0 * number,
                validation_seconds=3.0,
            )
        )

    found = [(one["what"], one["from_time"], one["to_time"]) for one in phases(attempt)]

    assert found == [
        ("Starting", -5.0, 0.0),
        ("Validation", 7.0, 10.0),
        ("Validation", 17.0, 20.0),
    ]


def test_the_loss_is_as_fine_as_epochs_left_it_and_ends_with_the_samples():
    attempt = Attempt("a")
    attempt.add(epoch(0, loss_profile=(4.0, 3.0, 2.0), metrics={"val_loss": 5.0}))
    attempt.samples.append(
        {TIME: [5.0, 12.0], "step": [2.0, 5.0], "loss": [3.5, math.nan]}
    )

    table = losses(attempt)

    assert table.column("loss")[:3].tolist() == [4.0, 3.0, 2.0]
    assert table.column("val_loss")[3] == 5.0
    # The epoch under way had no time to leave more; it may hold the first NaN.
    assert table.column(TIME)[-1] == 12.0
    assert math.isnan(table.column("loss")[-1])


def test_stacks_are_told_outermost_first():
    text = (
        "Current thread 0x00007f (most recent call first):\n"
        '  File "/project/train.py", line 40 in wait\n'
        '  File "/env/lib/python3.11/site-packages/keras/a.py", line 7 in fit\n'
    )

    (thread,) = threads_in(text)

    assert thread["trains"]
    assert [frame["function"] for frame in thread["frames"]] == ["fit", "wait"]
    assert [frame["library"] for frame in thread["frames"]] == [True, False]


def test_raw_events_are_the_newest_and_are_cut_off(view_of):
    said = facts.ProgramSaid(wall_time=3.0, message="x" * 9_000)
    view = view_of(BEGUN, said)

    told = raw_events(view, "run", 1)

    assert told["total"] == 3
    assert [event["kind"] for event in told["events"]] == ["ProgramSaid"]
    assert len(told["events"][0]["text"]) < MOST_CHARACTERS + 10
    with pytest.raises(RequestError):
        raw_events(view, "run", 0)
