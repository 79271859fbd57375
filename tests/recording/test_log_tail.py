"""The last lines of the log are kept, and the log stays as it was."""

import logging

import pytest

from tb_health_plugin.recording import log_tail
from tb_health_plugin.recording.guard import Guard
from tb_health_plugin.recording.log_tail import MOST_BYTES, LogTail


class Recorder:
    kept = b""

    def __init__(self) -> None:
        self.faults: list[tuple[str, str]] = []

    def keep_log(self, lines: bytes) -> None:
        self.kept = lines

    def fault(self, what: str, why: str) -> None:
        self.faults.append((what, why))


@pytest.fixture
def recorder():
    made = Recorder()
    tail = LogTail(made, Guard(made.fault))
    tail.begin()
    yield made
    tail.end()


@pytest.fixture
def log():
    """A logger of the program's own name that shows information, too."""
    logger = logging.getLogger("my.data")
    logger.setLevel(logging.INFO)
    yield logger
    logger.setLevel(logging.NOTSET)


def test_a_logger_of_any_name_is_heard(recorder, log):
    log.info("opened %d shards", 7)
    log.warning("shard %s is short", "b")

    assert recorder.kept == (
        b"INFO my.data: opened 7 shards\nWARNING my.data: shard b is short\n"
    )


def test_an_exception_is_named(recorder, log):
    try:
        raise OSError("no such shard")
    except OSError:
        log.exception("gave up")

    assert recorder.kept == b"ERROR my.data: gave up (OSError: no such shard)\n"


def test_the_newest_lines_stay(recorder, log):
    for number in range(1_000):
        log.info("line %d", number)

    assert recorder.kept.endswith(b"line 999\n")
    assert len(recorder.kept) <= MOST_BYTES
    assert recorder.kept.startswith(b"INFO my.data: line ")


def test_text_that_takes_long_is_not_made_for_us(recorder, log):
    class Tensor:
        def __str__(self) -> str:
            raise AssertionError("nobody asked for this")

    # No handler shows it, so nobody else makes it either.
    log.propagate = False
    log.info("weights: %s", Tensor())
    log.propagate = True

    assert recorder.kept == b""
    assert recorder.faults == []


def test_a_message_that_cannot_be_made_harms_nobody(recorder, log):
    record = log.makeRecord("my.data", logging.ERROR, "f.py", 1, "%d", ("x",), None)

    assert record.levelno == logging.ERROR
    assert len(recorder.faults) == 1


def test_nothing_is_left():
    before = logging.getLogRecordFactory()
    one, two = (LogTail(Recorder(), Guard(print)) for _ in range(2))
    one.begin()
    two.begin()
    one.end()
    assert logging.getLogRecordFactory() is not before
    two.end()

    assert logging.getLogRecordFactory() is before


def test_under_somebody_elses_it_passes_on():
    before = logging.getLogRecordFactory()
    recorder = Recorder()
    tail = LogTail(recorder, Guard(recorder.fault))
    tail.begin()
    ours = logging.getLogRecordFactory()
    logging.setLogRecordFactory(lambda *args, **fields: ours(*args, **fields))
    tail.end()
    logging.getLogger("x").warning("still made")

    assert recorder.kept == b""
    # Recorded again, it is heard once.
    tail.begin()
    logging.getLogger("x").warning("once")
    assert recorder.kept.count(b"once") == 1
    tail.end()
    logging.setLogRecordFactory(before)
    log_tail._factory = None
