"""What a run without our hook left: the scalars in its event files.

TensorBoard's protos are enough to read them; TensorFlow is not needed.
"""

import mmap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from google.protobuf.message import DecodeError
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary

from tb_health_plugin.events import codec, tags
from tb_health_plugin.events.tail import Tail
from tb_health_plugin.reading.from_data_provider import ATTEMPT_ID, add_summary
from tb_health_plugin.reading.library import Library
from tb_health_plugin.reading.parts import part_of
from tb_health_plugin.reading.run_history import Attempt

# How the name of our plugin stands in the metadata of a summary.
_MARK = bytes([len(tags.PLUGIN_NAME)]) + tags.PLUGIN_NAME.encode()


@dataclass(frozen=True, slots=True)
class Point:
    """One value of a series."""

    step: int
    wall_time: float
    value: float


@dataclass(slots=True)
class Scalars:
    """The scalars of one training, which may lie in several runs of TensorBoard.

    Attributes:
        run: Its name.
        series: Points by run and tag, as in `("train", "epoch_loss")`, by step.
    """

    run: str
    series: dict[tuple[str, str], list[Point]] = field(default_factory=dict)

    @property
    def last(self) -> Point | None:
        """The newest point of all."""
        points = [series[-1] for series in self.series.values() if series]
        return max(points, key=lambda point: point.wall_time, default=None)


def plain_runs(library: Library) -> dict[str, list[tuple[str, Path]]]:
    """Directories with event files of runs that were not monitored, by training."""
    root = library.roots[0].path
    return {
        run.name: [(part_of(n, run.name), root / n) for n in run.tensorboard_runs]
        for run in library.runs()
        if not run.history.attempts
    }


def newest(places: Iterable[tuple[str, Path]]) -> float:
    """When the event files in there were last written."""
    files = [file for _, directory in places for file in event_files(directory)]
    return max((file.stat().st_mtime for file in files), default=0.0)


def read_scalars(run: str, directories: Iterable[tuple[str, Path]]) -> Scalars:
    """Reads the event files of directories, each under its name."""
    found = Scalars(run)
    for name, directory in directories:
        for event, value in _values(event_files(directory)):
            number = _number(value)
            if number is not None:
                point = Point(event.step, event.wall_time, number)
                found.series.setdefault((name, value.tag), []).append(point)
    for series in found.series.values():
        series.sort(key=lambda point: (point.wall_time, point.step))
    return found


def add_summaries(library: Library) -> None:
    """Lets the library know runs that came through `tb_health_plugin.summary` alone."""
    attempts = {}
    for places in plain_runs(library).values():
        for _, directory in places:
            attempt = _read_summaries(directory)
            if attempt is not None:
                name = directory.relative_to(library.roots[0].path).as_posix()
                attempts[name] = attempt
    if attempts:
        library.merge_summaries((), attempts)


def _read_summaries(directory: Path) -> Attempt | None:
    """What `tb_health_plugin.summary` wrote there; None if it wrote nothing."""
    # Most event files hold nothing of ours; a look at the bytes tells at once.
    files = filter(_holds_ours, event_files(directory))
    attempt = Attempt(ATTEMPT_ID)
    for event, value in _values(files):
        try:
            fact = codec.decode_value(value, event.wall_time, event.step)
        except codec.UnknownRecord:
            continue
        add_summary(attempt, fact)
    return attempt if attempt.started_at is not None else None


def _holds_ours(path: Path) -> bool:
    try:
        with (
            path.open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
        ):
            return data.find(_MARK) >= 0
    except (OSError, ValueError):
        # Not ours to read, or empty.
        return False


def event_files(directory: Path) -> list[Path]:
    """TensorBoard's event files in a directory, in order."""
    try:
        return sorted(path for path in directory.iterdir() if "tfevents" in path.name)
    except OSError:
        return []


def _values(files: Iterable[Path]) -> Iterator[tuple[Event, Summary.Value]]:
    for path in files:
        for record in Tail(path).records():
            try:
                event = Event.FromString(record)
            except DecodeError:
                continue
            for value in event.summary.value:
                yield event, value


def _number(value: Summary.Value) -> float | None:
    """The scalar, however its writer wrote it; None if it is something else."""
    if value.HasField("simple_value"):
        return float(value.simple_value)
    if not value.HasField("tensor") or value.tensor.tensor_shape.dim:
        return None
    # It loads boto3 and fsspec where they are installed, which no other run needs.
    from tensorboard.util import tensor_util  # noqa: PLC0415

    try:
        array = tensor_util.make_ndarray(value.tensor)
    except (TypeError, ValueError):
        return None
    return float(array) if array.dtype.kind == "f" else None
