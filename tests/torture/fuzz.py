"""Looks for bytes that break a reader, led by which lines they reach.

`python -m tests.torture.fuzz TARGET SECONDS SEED CORPUS` runs until the time is over or
something breaks. Checksums would stop every change of a byte, so that records are
framed rightly around what the fuzzer makes.
"""

import sys
from collections.abc import Callable

import atheris

with atheris.instrument_imports(include=["tb_health_plugin"]):
    from tb_health_plugin.events import codec
    from tb_health_plugin.events.framing import Scan, frame, whole_records
    from tb_health_plugin.events.rule_choices import BadRules, loaded
    from tb_health_plugin.events.sample_file import parse_head
    from tb_health_plugin.reading.sample_reader import SampleReader
    from tb_health_plugin.reading.table import Table

from pathlib import Path

from google.protobuf.message import DecodeError
from tensorboard.compat.proto.event_pb2 import Event


def framing(data: bytes) -> None:
    """Bytes as they lie in a file."""
    scan = Scan()
    records = [bytes(record) for record in whole_records(data, scan)]
    assert 0 <= scan.consumed <= len(data)
    assert sum(map(len, records)) <= len(data)


def facts(data: bytes) -> None:
    """The inside of a record of facts."""
    try:
        event = Event.FromString(data)
    except DecodeError:
        return
    for value in event.summary.value:
        try:
            codec.decode_value(value, event.wall_time, event.step)
        except codec.UnknownRecord:
            continue


def samples(data: bytes) -> None:
    """A file of samples: head and records cut where the fuzzer says."""
    parts = data.split(b"\xff\x00\xff")
    reader, table = SampleReader(Path("nowhere")), Table()
    reader._read_chunk(b"".join(map(frame, parts)), table)
    assert len(table) <= len(parts)


def head(data: bytes) -> None:
    """The head of such a file."""
    try:
        parse_head(data)
    except codec.UnknownRecord:
        return


def rules(data: bytes) -> None:
    """What a log directory wants of the rules."""
    try:
        loaded(data.decode("utf-8", "replace"))
    except BadRules:
        return


TARGETS: dict[str, Callable[[bytes], None]] = {
    target.__name__: target for target in (framing, facts, samples, head, rules)
}


def main(target: str, seconds: str, seed: str, corpus: str) -> None:
    options = [
        sys.argv[0],
        f"-max_total_time={seconds}",
        f"-seed={seed}",
        "-max_len=8192",
        "-timeout=20",
        "-rss_limit_mb=2048",
        "-print_final_stats=1",
        corpus,
    ]
    atheris.Setup(options, TARGETS[target])
    atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
