"""Runs without health data, through TensorBoard's own provider, in the run list."""

import math
from pathlib import Path
from typing import Any

import pytest
from tensorboard.backend.event_processing.data_provider import MultiplexerDataProvider
from tensorboard.backend.event_processing.plugin_event_multiplexer import (
    EventMultiplexer,
)

from tb_health_plugin.reading.library import Library
from tb_health_plugin.reading.log_directory import Root
from tb_health_plugin.reading.provider_scalars import ProviderScalars
from tb_health_plugin.server.answers import lane_points, run_story
from tb_health_plugin.server.view import View
from tests.plain_events import write_scalars

FALLING = [1.0 / (1 + epoch) for epoch in range(40)]
RISING = [0.5 - 0.02 * epoch for epoch in range(10)]
RISING += [0.3 + 0.03 * epoch for epoch in range(30)]


@pytest.fixture
def provider(tmp_path: Path) -> Any:
    """What TensorBoard has after it loaded three plain runs, and what Keras writes."""
    write_scalars(tmp_path / "good", {"loss": [3.0, 2.0, 1.0], "rate": [0.1, 0.1]})
    write_scalars(tmp_path / "bad", {"loss": [3.0, math.nan]})
    write_scalars(tmp_path / "other", {"rate": [0.1] * 8})
    write_scalars(tmp_path / "keras/train", {"epoch_loss": FALLING})
    write_scalars(tmp_path / "keras/validation", {"epoch_loss": RISING})
    multiplexer = EventMultiplexer()
    multiplexer.AddRunsFromDirectory(str(tmp_path))
    multiplexer.Reload()
    return MultiplexerDataProvider(multiplexer, str(tmp_path))


def test_losses_are_read_and_of_the_rest_the_end_is_known(provider: Any):
    found = ProviderScalars(provider).read(["good", "other"])

    assert [p.value for p in found["good"].series[".", "loss"]] == [3.0, 2.0, 1.0]
    assert found["other"].last is not None
    assert found["other"].last.step == 7


def test_what_has_not_grown_is_not_read_again(provider: Any, monkeypatch):
    scalars = ProviderScalars(provider)
    first = scalars.read(["good"])
    monkeypatch.setattr(provider, "read_scalars", None)

    assert scalars.read(["good"]) == first
    assert scalars.read([]) == {}


def test_the_run_list_tells_what_is_known(provider: Any, tmp_path: Path):
    view = View(Library([Root(tmp_path)]), provider)
    view.refresh()

    rows = {one.run.name: one.row for one in view.runs()}
    assert rows["bad"]["monitored"] is False
    assert rows["bad"]["chip"] == "Not monitored"
    assert rows["bad"]["headline"].startswith("The loss is NaN since step 1")
    assert rows["good"]["headline"] == "Not monitored; last logged at step 2"
    assert rows["good"]["step"] == 2
    assert rows["good"]["last_seen_at"] == 1_002.0


def test_train_and_validation_are_one_run_with_one_story(provider: Any, tmp_path: Path):
    view = View(Library([Root(tmp_path)]), provider)
    view.refresh()

    assert {one.run.name for one in view.runs()} == {"good", "bad", "other", "keras"}
    story = run_story(view, "keras")
    assert story["run"]["tensorboard_runs"] == ["keras/train", "keras/validation"]
    assert story["run"]["monitored"] is False
    assert story["verdict"]["id"] == "overfitting"
    assert story["run"]["headline"].startswith("Overfitting since epoch 11")
    assert story["run"]["headline"].endswith("(partial: from its scalars alone)")
    assert "how it ended" in story["not_measured"][0]["what"]
    assert len(story["epochs"]) == 40
    # A link to one of its parts leads to it.
    assert run_story(view, "keras/train") == story


def test_the_loss_of_a_plain_run_is_drawn(provider: Any, tmp_path: Path):
    view = View(Library([Root(tmp_path)]), provider)
    view.refresh()

    assert "loss" in [lane["id"] for lane in run_story(view, "good")["lanes"]]
    points = lane_points(view, "good", "loss", axis="step", begin=0, end=3, buckets=100)
    assert points["series"][0]["mean"] == [3.0, 2.0, 1.0]
