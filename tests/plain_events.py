"""Writes event files as any TensorBoard writer would."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary

from tb_health_plugin.events.framing import frame


def write_events(directory: Path, events: Sequence[Event]) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "events.out.tfevents.1.host.1.0"
    path.write_bytes(b"".join(frame(event.SerializeToString()) for event in events))
    return path


def write_scalars(
    directory: Path,
    series: Mapping[str, Sequence[float]],
    *,
    seconds: float = 1.0,
    times: Sequence[float] | None = None,
) -> Path:
    """One point per step and tag, `seconds` apart."""
    events = [
        Event(
            step=step,
            wall_time=times[step] if times else 1_000.0 + seconds * step,
            summary=Summary(value=[Summary.Value(tag=tag, simple_value=value)]),
        )
        for tag, values in series.items()
        for step, value in enumerate(values)
    ]
    return write_events(directory, events)
