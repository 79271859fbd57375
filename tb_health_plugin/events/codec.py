"""Facts and samples to `Summary` protos and back: one codec for every writer.

The recorder, `tb_health_plugin.summary` and its `*_pb` twins all end here, and so
do both ways of reading: our own files and TensorBoard's data provider.
"""

import dataclasses
import struct
from collections.abc import Mapping, Sequence
from typing import Any

from google.protobuf.message import DecodeError, Message
from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.types_pb2 import DT_DOUBLE, DT_STRING

from tb_health_plugin.events import facts, tags
from tb_health_plugin.events.messages import message_class
from tb_health_plugin.events.private_text import masked, masked_setting

# The proto of `DATA_CLASS_TENSOR` in `SummaryMetadata.DataClass`.
_DATA_CLASS_TENSOR = 2

FACT_CLASSES: dict[str, type[facts.Fact]] = {
    tags.RUN_STARTED: facts.RunStarted,
    tags.TRAINING_STARTED: facts.TrainingStarted,
    tags.EPOCH_ENDED: facts.EpochEnded,
    tags.TRAINING_ENDED: facts.TrainingEnded,
    tags.STOP_REQUESTED: facts.StopRequested,
    tags.TIME_SPENT: facts.TimeSpent,
    tags.BATCH_SEEN: facts.BatchSeen,
    tags.INSPECTED: facts.Inspected,
    tags.FIRST_BAD_NUMBER: facts.FirstBadNumber,
    tags.PROGRAM_SAID: facts.ProgramSaid,
    tags.SAVED: facts.Saved,
    tags.INCIDENT: facts.Incident,
    tags.RUN_ENDED: facts.RunEnded,
    tags.PROCESS_ENDED: facts.ProcessEnded,
    tags.STALLED: facts.Stalled,
    tags.STALL_ENDED: facts.StallEnded,
    tags.CHILD_ENDED: facts.ChildEnded,
    tags.GPU_SHARED: facts.GpuShared,
    tags.GPU_ALLOCATOR: facts.GpuAllocator,
    tags.RECORDING_STOPPED: facts.RecordingStopped,
    tags.RULES_CHOSEN: facts.RulesChosen,
}
TAG_OF = {kind: tag for tag, kind in FACT_CLASSES.items()}
SAMPLE_TAGS = (tags.SAMPLES, tags.RESOURCES, tags.GRADIENTS, tags.DATA_PIPELINE)

# Enough for any traceback worth reading; a longer text is cut and says so.
LONGEST_TEXT = 64 << 10

# As many layers or variables are told, the first ones. More would not fit through the
# hand-over, and each look at the gradients would take a megabyte of disk.
MOST_ITEMS = 2_000

# Fields of the event around a message, not of the message itself.
_OUTER = {field.name for field in dataclasses.fields(facts.Fact)}


class UnknownRecord(Exception):
    """A summary that is not ours, or not ours yet. Skipped and counted."""


class NewerFormat(UnknownRecord):
    """Written by a later version of Training Health."""


class DamagedRecord(UnknownRecord):
    """One of our tags, but not one of our messages."""


# The year 33658. What is later is damage, and arithmetic with it may overflow.
LATEST_TIME = 1e12


def is_time(wall_time: float) -> bool:
    """True for seconds since the epoch; false for NaN, infinity and nonsense."""
    return 0.0 <= wall_time <= LATEST_TIME


def check_wall_time(wall_time: float) -> float:
    """Makes sure that a time is one.

    Raises:
        ValueError: It is NaN, infinite or negative. TensorBoard's loaders stop
            reading a file at such an event.
    """
    if not is_time(wall_time):
        raise ValueError(
            f"wall_time={wall_time!r} is not a time: expected seconds since the epoch"
        )
    return float(wall_time)


# Writing


def metadata(columns: Sequence[str] = (), rows: Sequence[str] = ()) -> SummaryMetadata:
    """Metadata that marks a summary as ours and names its numbers."""
    content = message_class("Metadata")(
        format_version=tags.FORMAT_VERSION,
        layout=layout(columns, rows) if columns else None,
    )
    result = SummaryMetadata(data_class=_DATA_CLASS_TENSOR)
    result.plugin_data.plugin_name = tags.PLUGIN_NAME
    result.plugin_data.content = content.SerializeToString()
    return result


def layout(columns: Sequence[str], rows: Sequence[str] = ()) -> Message:
    return message_class("Layout")(
        columns=[message_class("Column")(name=name) for name in columns], rows=rows
    )


def fact_summary(fact: facts.Fact) -> Summary:
    """A summary with one fact; its time and step belong into the event around it."""
    return record_summary(TAG_OF[type(fact)], _to_message(fact))


def record_summary(tag: str, message: Message) -> Summary:
    tensor = TensorProto(dtype=DT_STRING, string_val=[message.SerializeToString()])
    tensor.tensor_shape.SetInParent()
    value = Summary.Value(tag=tag, metadata=metadata(), tensor=tensor)
    return Summary(value=[value])


def sample_summary(
    tag: str,
    values: Mapping[str, float] | Mapping[str, Sequence[float]],
    rows: Sequence[str] = (),
) -> Summary:
    """A summary with the numbers of one moment.

    Args:
        tag: One of `SAMPLE_TAGS`, or one of those with the name of a series.
        values: A number per column, or with `rows` one per row and column.
        rows: The names of the rows of a table.
    """
    columns = tuple(values)
    if rows:
        table = [values[column] for column in columns]
        flat = [float(cells[i]) for i in range(len(rows)) for cells in table]  # type: ignore[index]
    else:
        flat = [float(values[column]) for column in columns]  # type: ignore[arg-type]
    tensor = doubles(flat, (len(rows), len(columns)) if rows else (len(columns),))
    value = Summary.Value(tag=tag, metadata=metadata(columns, rows), tensor=tensor)
    return Summary(value=[value])


def doubles(values: Sequence[float], shape: Sequence[int]) -> TensorProto:
    """A tensor whose encoded length depends on its shape alone, not on its values."""
    tensor = TensorProto(
        dtype=DT_DOUBLE, tensor_content=struct.pack(f"<{len(values)}d", *values)
    )
    for size in shape:
        tensor.tensor_shape.dim.add(size=size)
    return tensor


def _to_message(fact: Any) -> Message:
    message = message_class(type(fact).__name__)()
    for field in _message_fields(type(fact)):
        value = getattr(fact, field.name)
        if value is None:
            continue
        if isinstance(value, Mapping):
            for key, item in value.items():
                getattr(message, field.name)[_text(key)] = _setting(key, item)
        elif isinstance(value, tuple):
            is_message = dataclasses.is_dataclass(field.metadata["of"])
            items = map(_to_message if is_message else _text, value[:MOST_ITEMS])
            getattr(message, field.name).extend(items)
        else:
            setattr(message, field.name, _text(value))
    return message


def _text(value: Any) -> Any:
    """Text that protobuf accepts and that stays small; other values as they are."""
    if not isinstance(value, str):
        return value
    if len(value) > LONGEST_TEXT:
        cut = len(value) - LONGEST_TEXT
        value = f"{value[:LONGEST_TEXT]} … ({cut:,} more characters)"
    return masked(value).encode("utf-8", "replace").decode("utf-8")


def _setting(name: str, value: Any) -> Any:
    return _text(masked_setting(name, value) if isinstance(value, str) else value)


# By class: asking a dataclass anew for every record takes a fifth of reading them.
_fields_of: dict[type, list["dataclasses.Field[Any]"]] = {}


def _message_fields(kind: type) -> list["dataclasses.Field[Any]"]:
    found = _fields_of.get(kind)
    if found is None:
        outer = _OUTER if issubclass(kind, facts.Fact) else ()
        found = [field for field in dataclasses.fields(kind) if field.name not in outer]
        _fields_of[kind] = found
    return found


# Reading


def decode_value(value: Summary.Value, wall_time: float, step: int) -> facts.Fact:
    """The fact or sample that a summary of ours holds.

    Raises:
        UnknownRecord: It is not ours, of a later format, or damaged.
    """
    if not is_time(wall_time):
        raise DamagedRecord(f"{value.tag}: {wall_time!r} is not a time")
    content = value.metadata.plugin_data.content
    if value.tensor.dtype == DT_STRING and len(value.tensor.string_val) == 1:
        return decode_fact(
            value.tag, content, value.tensor.string_val[0], wall_time, step
        )
    if value.tensor.dtype == DT_DOUBLE:
        numbers = _doubles(value.tag, value.tensor.tensor_content)
        return decode_sample(value.tag, content, numbers, wall_time, step)
    raise UnknownRecord(value.tag)


def _doubles(tag: str, data: bytes) -> tuple[float, ...]:
    if len(data) % 8:
        raise DamagedRecord(f"{tag}: {len(data)} bytes are no whole numbers")
    return struct.unpack(f"<{len(data) // 8}d", data)


def decode_fact(
    tag: str, content: bytes, data: bytes, wall_time: float, step: int
) -> facts.Fact:
    kind = FACT_CLASSES.get(tags.kind_of(tag))
    if kind is None:
        raise UnknownRecord(tag)
    check_version(parse("Metadata", content))
    message = parse(kind.__name__, data)
    return kind(wall_time=wall_time, step=step, **_fields(message, kind))


def decode_sample(
    tag: str,
    content: bytes,
    numbers: Sequence[float],
    wall_time: float,
    step: int,
) -> facts.Sample:
    if tags.kind_of(tag) not in SAMPLE_TAGS:
        raise UnknownRecord(tag)
    head: Any = parse("Metadata", content)
    check_version(head)
    columns = tuple(column.name for column in head.layout.columns)
    rows = tuple(head.layout.rows)
    if not columns or len(numbers) != len(columns) * max(1, len(rows)):
        raise DamagedRecord(f"{tag}: {len(numbers)} numbers do not fit the layout")
    return facts.Sample(
        wall_time=wall_time,
        step=step,
        tag=tag,
        columns=columns,
        rows=rows,
        values=tuple(map(float, numbers)),
    )


def parse(name: str, data: bytes) -> Message:
    try:
        return message_class(name).FromString(data)
    except DecodeError as error:
        raise DamagedRecord(f"{name}: {error}") from error


def check_version(head: Any) -> None:
    if head.format_version == 0:
        raise DamagedRecord("no format version")
    if head.format_version > tags.FORMAT_VERSION:
        raise NewerFormat(str(head.format_version))


def _fields(message: Any, kind: type) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for field in _message_fields(kind):
        value = getattr(message, field.name)
        if field.default_factory is dict:
            # Protobuf gives them in another order in each process.
            values[field.name] = dict(sorted(value.items()))
        elif field.default == ():
            of = field.metadata["of"]
            is_message = dataclasses.is_dataclass(of)
            values[field.name] = tuple(
                of(**_fields(item, of)) if is_message else item for item in value
            )
        elif message.HasField(field.name):
            values[field.name] = value
    return values
