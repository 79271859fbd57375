"""The log directory is read while somebody looks, and a fault does not end it."""

import threading

from demo.tensorboard_server import wait_until
from tb_health_plugin.server import refresher as module
from tb_health_plugin.server.refresher import Refresher


class Reads:
    """Counts the reads; the first `broken` of them fail."""

    def __init__(self, broken: int = 0) -> None:
        self.count = 0
        self._broken = broken

    def __call__(self) -> None:
        self.count += 1
        if self.count <= self._broken:
            raise OSError("gone")


def test_it_reads_once_at_the_start():
    reads = Reads()

    Refresher(reads, 0).start()

    wait_until(lambda: reads.count == 1)


def test_it_reads_again_while_somebody_looks():
    reads = Reads()
    refresher = Refresher(reads, 0.01)
    refresher.start()

    refresher.asked()

    wait_until(lambda: reads.count > 3)


def test_it_rests_when_nobody_looks_and_wakes_when_somebody_does(monkeypatch):
    monkeypatch.setattr(module, "IDLE_SECONDS", -1.0)
    reads = Reads()
    now = [0.0]
    refresher = Refresher(reads, 0.01, clock=lambda: now[0])
    refresher.start()
    wait_until(lambda: reads.count == 1)
    now[0] = 100.0

    refresher.asked()

    wait_until(lambda: reads.count == 2)


def test_an_answer_does_not_wait_while_reading_goes_on_by_itself():
    reads, now = Reads(), [0.0]
    refresher = Refresher(reads, 5.0, clock=lambda: now[0])
    refresher.start()
    refresher.asked()
    refresher._wanted.clear()

    now[0] = 6.0
    refresher.asked()

    # Had it waited, it would have woken the reader.
    assert not refresher._wanted.is_set()
    assert reads.count == 1


def test_a_fault_is_logged_once_and_tried_again(caplog):
    reads = Reads(broken=3)
    refresher = Refresher(reads, 0.01)
    refresher.start()

    refresher.asked()

    wait_until(lambda: reads.count > 5)
    assert len(caplog.records) == 1


def test_an_answer_waits_for_the_first_read_but_not_for_ever():
    release = threading.Event()
    refresher = Refresher(release.wait, 5.0)
    refresher.start()

    refresher.asked()

    release.set()


def test_an_answer_that_is_believed_for_long_waits_for_what_is_there_now():
    reads, now = Reads(), [0.0]
    refresher = Refresher(reads, 3600.0, clock=lambda: now[0])
    refresher.start()
    wait_until(lambda: refresher._refreshed_at == 0.0)
    now[0] = 1.0

    refresher.asked()
    assert reads.count == 1

    refresher.asked(urgent=True)
    assert reads.count == 2
