"""Memory that outlives its writer."""

import os
import signal
import subprocess
import sys
import textwrap

import pytest

from tb_health_plugin.writing import black_box
from tb_health_plugin.writing.black_box import BlackBox, Progress, make_file


@pytest.fixture
def box():
    made = BlackBox(make_file())
    yield made
    made.close()


def other_side(box: BlackBox) -> BlackBox:
    return BlackBox(os.dup(box.fd))


def progress(step: int) -> Progress:
    return Progress(step, 1.0, 0.5, 10.0, 9.0, 0.0, 2, step)


def test_records_arrive_in_order_and_once(box: BlackBox):
    reader = other_side(box)
    for number in range(5):
        assert box.put(str(number).encode())

    assert list(reader.take()) == [b"0", b"1", b"2", b"3", b"4"]
    assert list(reader.take()) == []
    reader.close()


def test_the_ring_goes_round(box: BlackBox):
    sent, received = [], []
    for number in range(300):
        record = bytes([number % 256]) * (number * 97 % 9_000)
        assert box.put(record)
        sent.append(record)
        received += box.take()

    assert received == sent


def test_a_full_ring_drops_and_counts_instead_of_waiting(box: BlackBox):
    record = b"x" * 100_000
    accepted = [box.put(record) for _ in range(12)]

    assert accepted.count(False) == box.dropped == 2
    assert len(list(box.take())) == 10
    assert box.put(record)


def test_the_newest_progress_is_read(box: BlackBox):
    assert box.progress() is None
    for step in range(1, 6):
        box.set_progress(progress(step))

        assert box.progress() == progress(step)


def test_a_half_written_progress_leaves_the_one_before(box: BlackBox, monkeypatch):
    box.set_progress(progress(1))
    box.set_progress(progress(2))

    class Killed(Exception):
        pass

    class DiesWhileWriting:
        size = black_box._PROGRESS.size

        def pack_into(self, *_: object) -> None:
            raise Killed

    with monkeypatch.context() as dying:
        dying.setattr(black_box, "_PROGRESS", DiesWhileWriting())
        with pytest.raises(Killed):
            box.set_progress(progress(3))

    assert box.progress() == progress(2)


def test_a_record_with_a_wrong_checksum_is_not_taken(box: BlackBox):
    box.put(b"good")
    box.put(b"damaged")
    box.put(b"good again")
    position = box._map.find(b"damaged")
    box._map[position : position + 1] = b"X"

    assert list(box.take()) == [b"good", b"good again"]


def test_a_complaint_reaches_the_other_side(box: BlackBox):
    assert box.complaint() == ""
    box.complain("the disk is full")

    assert box.complaint() == "the disk is full"


def test_a_long_complaint_is_cut(box: BlackBox):
    box.complain("ü" * 10_000)

    assert 1_000 < len(box.complaint()) < 4_000


def test_terms_that_are_too_long_are_refused(box: BlackBox):
    with pytest.raises(ValueError, match="do not fit"):
        box.set_terms(b"x" * 1_000_000)


def test_the_terms_are_read_as_they_were_set(box: BlackBox):
    box.set_terms(b'{"period_seconds": 1}')

    assert box.terms() == b'{"period_seconds": 1}'


def test_a_file_that_is_no_box_is_refused():
    fd = make_file()
    os.pwrite(fd, b"something else", 0)

    with pytest.raises(ValueError, match="no black box"):
        BlackBox(fd)
    os.close(fd)


def test_everything_survives_the_sigkill_of_its_writer(box: BlackBox):
    program = """
        import os, signal, sys
        from tb_health_plugin.writing.black_box import BlackBox, Progress
        box = BlackBox(int(sys.argv[1]))
        for step in range(1, 1001):
            box.put(b"fact %d" % step)
            box.set_progress(Progress(step, 0, 0, 0, 0, 0, 0, 0))
        os.kill(os.getpid(), signal.SIGKILL)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), str(box.fd)],
        pass_fds=[box.fd],
        check=False,
    )

    assert done.returncode == -signal.SIGKILL
    assert box.progress().step == 1_000
    assert list(box.take())[-1] == b"fact 1000"


class TestTheTailOfTheLog:
    def test_the_newest_lines_are_there(self, box):
        assert box.log_tail() == ""
        for text in (b"one\n", b"two\n", b"3\n"):
            box.set_log_tail(text)
            assert box.log_tail() == text.decode()

    def test_what_was_half_written_leaves_the_lines_before(self, box, monkeypatch):
        box.set_log_tail(b"one\n")

        def killed(self, at: int, room: int, text: bytes) -> None:
            self._map[at + 8 : at + 10] = text[:2]
            raise KeyboardInterrupt

        monkeypatch.setattr(BlackBox, "_set_text", killed)
        with pytest.raises(KeyboardInterrupt):
            box.set_log_tail(b"two\n")

        assert box.log_tail() == "one\n"
