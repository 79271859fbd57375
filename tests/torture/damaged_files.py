"""Damages the files of real recorded runs in every way a disk or a copy can."""

import functools
import json
import math
import random
import struct
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from google.protobuf.message import DecodeError, Message
from tensorboard.compat.proto.event_pb2 import Event

from tb_health_plugin.diagnosis.as_json import answer
from tb_health_plugin.diagnosis.engine import judge
from tb_health_plugin.diagnosis.verdict import Story
from tb_health_plugin.events.framing import Scan, frame, whole_records
from tb_health_plugin.reading.attempt_reader import AttemptReader
from tb_health_plugin.reading.run_history import Attempt, RunHistory
from tests import runs
from tests.torture.chamber import Broken, Chamber

# In one round a run is damaged so often, so that reading its files is paid once.
PER_ROUND = 10
HOSTILE = (math.nan, math.inf, -math.inf, 1e308, -1.0, 0.0, 5e-324)
_SURENESS = {"possible": 1, "likely": 2, "proven": 3}

Damage = Callable[[random.Random, bytes], bytes]


def flip_bits(rng: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 8, 100))):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def cut(rng: random.Random, data: bytes) -> bytes:
    return data[: rng.randrange(len(data))]


def drop_a_stretch(rng: random.Random, data: bytes) -> bytes:
    begin = rng.randrange(len(data))
    return data[:begin] + data[begin + rng.randrange(1, 2_000) :]


def write_zeros(rng: random.Random, data: bytes) -> bytes:
    begin = rng.randrange(len(data))
    length = min(rng.randrange(1, 5_000), len(data) - begin)
    return data[:begin] + bytes(length) + data[begin + length :]


def insert_noise(rng: random.Random, data: bytes) -> bytes:
    at = rng.randrange(len(data))
    return data[:at] + rng.randbytes(rng.randrange(1, 300)) + data[at:]


def repeat_a_stretch(rng: random.Random, data: bytes) -> bytes:
    begin = rng.randrange(len(data))
    end = begin + rng.randrange(1, 3_000)
    return data[:end] + data[begin:end] + data[end:]


def lose_records(rng: random.Random, data: bytes) -> bytes:
    share = rng.choice((0.05, 0.3, 0.9))
    return b"".join(frame(r) for r in records_of(data) if rng.random() > share)


def repeat_records(rng: random.Random, data: bytes) -> bytes:
    return b"".join(frame(r) * rng.choice((1, 1, 1, 2)) for r in records_of(data))


def mix_records(rng: random.Random, data: bytes) -> bytes:
    records = records_of(data)
    rng.shuffle(records)
    return b"".join(map(frame, records))


def forge_records(rng: random.Random, data: bytes) -> bytes:
    """Changes what is inside, and makes the checksums right again."""
    return b"".join(
        frame(flip_bits(rng, record) if record and rng.random() < 0.1 else record)
        for record in records_of(data)
    )


def plant_numbers(rng: random.Random, data: bytes) -> bytes:
    """Writes hostile doubles over what is inside, checksums right."""
    changed = []
    for record in map(bytearray, records_of(data)):
        if len(record) > 8 and rng.random() < 0.3:
            at = rng.randrange(len(record) - 8)
            record[at : at + 8] = struct.pack("<d", rng.choice(HOSTILE))
        changed.append(frame(bytes(record)))
    return b"".join(changed)


def empty_fields(rng: random.Random, data: bytes) -> bytes:
    """Takes parts out of events, or puts a hostile number in, checksums right."""
    changed = []
    for record in records_of(data):
        try:
            event = Event.FromString(record)
        except DecodeError:
            # An earlier damage was inside of it.
            continue
        if rng.random() < 0.2:
            _empty(rng, event)
        changed.append(frame(event.SerializeToString()))
    return b"".join(changed)


def _empty(rng: random.Random, message: Message) -> None:
    filled = message.ListFields()
    if not filled:
        return
    field, value = rng.choice(filled)
    if field.type == field.TYPE_DOUBLE and isinstance(value, float):
        setattr(message, field.name, rng.choice(HOSTILE))
    elif field.type == field.TYPE_MESSAGE and rng.random() < 0.8:
        inner = rng.choice(list(value)) if _is_repeated(value) else value
        _empty(rng, inner)
    else:
        message.ClearField(field.name)


def _is_repeated(value: object) -> bool:
    return not isinstance(value, Message)


# Bytes are lost, yet every whole record that is left is true.
LOSSES: tuple[Damage, ...] = (
    flip_bits,
    drop_a_stretch,
    write_zeros,
    insert_noise,
    repeat_a_stretch,
    lose_records,
)
# What is left may be in the wrong order, cut at a moment, or untrue.
LIES: tuple[Damage, ...] = (
    cut,
    repeat_records,
    mix_records,
    forge_records,
    plant_numbers,
    empty_fields,
)


def records_of(data: bytes) -> list[bytes]:
    return [bytes(record) for record in whole_records(data, Scan())]


@functools.cache
def files(name: str) -> dict[str, bytes]:
    folder = runs.HERE / name / "plugins/health"
    return {p.name: p.read_bytes() for p in sorted(folder.glob("*/*.tfrecord"))}


@functools.cache
def sureness(name: str) -> dict[str, int]:
    findings = judge(runs.attempt(name), runs.GONE).findings
    return {one.id: _SURENESS[one.confidence] for one in findings}


def read(contents: dict[str, bytes]) -> Attempt:
    """The attempt in these files, with all it has to say about damage."""
    with tempfile.TemporaryDirectory(dir=_memory()) as folder:
        for name, data in contents.items():
            Path(folder, name).write_bytes(data)
        reader = AttemptReader(Path(folder))
        reader.refresh()
        assert all(problem.message for problem in reader.problems)
        return reader.attempt


def told(attempt: Attempt) -> Story:
    story = judge(attempt, runs.GONE)
    failed = [m for m in story.not_measured if m.what.startswith("the rule ")]
    if failed:
        raise Broken(f"a rule failed: {failed[0]}")
    json.dumps(answer(RunHistory("run", [attempt]), story), allow_nan=False)
    return story


def torture(rng: random.Random, counts: Counter[str]) -> None:
    name = rng.choice(runs.names())
    for _ in range(PER_ROUND):
        truthful = rng.random() < 0.5
        kinds = LOSSES if truthful else LIES + LOSSES
        damages = [rng.choice(kinds) for _ in range(rng.choice((1, 1, 2, 3)))]
        contents = dict(files(name))
        for damage in damages:
            file = rng.choice(sorted(contents))
            if contents[file]:
                contents[file] = damage(rng, contents[file])
        story = told(read(contents))
        counts["files damaged"] += len(damages)
        counts["runs judged"] += 1
        if truthful:
            _check_sureness(name, story, damages)


def _check_sureness(name: str, story: Story, damages: list[Damage]) -> None:
    before = sureness(name)
    for one in story.findings:
        if one.confidence == "proven" and one.id not in before:
            ways = ", ".join(d.__name__ for d in damages)
            raise Broken(f"{name} after {ways}: proven {one.id}, {one.headline}")


def _memory() -> str | None:
    """Files in memory where there is such a place: a disk need not suffer."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


CHAMBER = Chamber(
    name="files",
    promise="damaged files are read as far as they go, and prove nothing new",
    round=torture,
    share=3.0,
)
