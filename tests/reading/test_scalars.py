"""Event files of TensorBoard, read without TensorFlow."""

import math
from pathlib import Path

import numpy as np
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.plugins.scalar.metadata import create_summary_metadata
from tensorboard.util.tensor_util import make_tensor_proto

from tb_health_plugin import summary
from tb_health_plugin.reading.opening import open_library
from tb_health_plugin.reading.scalars import add_summaries, plain_runs, read_scalars
from tests.plain_events import write_events, write_scalars


def test_scalars_of_old_and_new_writers_are_read(tmp_path: Path):
    new = Summary.Value(
        tag="new",
        metadata=create_summary_metadata("", ""),
        tensor=make_tensor_proto(np.float32(0.5)),
    )
    old = Summary.Value(tag="old", simple_value=2.0)
    write_events(
        tmp_path,
        [
            Event(step=3, wall_time=9.0, summary=Summary(value=[new])),
            Event(step=4, wall_time=10.0, summary=Summary(value=[old])),
        ],
    )

    found = read_scalars("run", [(".", tmp_path)])

    assert found.series[".", "new"][0].value == 0.5
    assert found.series[".", "old"][0].step == 4
    assert found.last == found.series[".", "old"][0]


def test_what_is_no_scalar_is_passed_over(tmp_path: Path):
    text = Summary.Value(
        tag="text", tensor=make_tensor_proto(np.array("words", object))
    )
    image = Summary.Value(tag="image", tensor=make_tensor_proto(np.ones((2, 2))))
    events = [Event(step=1, wall_time=1.0, summary=Summary(value=[text, image]))]
    write_events(tmp_path, events)

    assert read_scalars("run", [(".", tmp_path)]).series == {}


def test_a_file_that_was_cut_is_read_as_far_as_it_goes(tmp_path: Path):
    path = write_scalars(tmp_path, {"loss": [1.0, math.nan]})
    path.write_bytes(path.read_bytes()[:-5])

    assert len(read_scalars("run", [(".", tmp_path)]).series[".", "loss"]) == 1


def test_parts_of_one_training_belong_together(tmp_path: Path):
    for part in ("a/train", "a/validation", "b"):
        write_scalars(tmp_path / part, {"epoch_loss": [1.0]})

    found = plain_runs(open_library(tmp_path))

    assert {name: [part for part, _ in places] for name, places in found.items()} == {
        "a": ["train", "validation"],
        "b": ["."],
    }


def test_a_run_recorded_through_summaries_is_known(tmp_path: Path):
    write_scalars(tmp_path / "plain", {"loss": [1.0]})
    stop = summary.stop_pb("finished")
    write_events(tmp_path / "told", [Event(step=7, wall_time=5.0, summary=stop)])
    library = open_library(tmp_path)

    add_summaries(library)

    known = {run.name: len(run.history.attempts) for run in library.runs()}
    assert known == {"plain": 0, "told": 1}
