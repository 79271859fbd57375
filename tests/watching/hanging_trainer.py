"""A trainer that hangs in any way one likes.

python -m tests.watching.hanging_trainer LOGDIR HANG
"""

import ctypes
import os
import queue
import sys
import threading
import time
from pathlib import Path

from tb_health_plugin.recording.recorder import Recorder
from tb_health_plugin.writing.phases import Phase
from tests.watching.trainer import join_group, start, train

STEPS = 500
LEAKED_BYTES_PER_SECOND = 3 << 20


def main(logdir: str, hang: str) -> None:
    join_group()
    recorder = start(Path(logdir))
    train(recorder, STEPS, seconds=0.005)
    globals()[hang](recorder)


def wait_for_data(recorder: Recorder) -> None:
    queue.Queue().get()


def take_locks_crosswise(recorder: Recorder) -> None:
    first_lock, second_lock = threading.Lock(), threading.Lock()
    both_hold_one = threading.Barrier(2)

    def other() -> None:
        with second_lock:
            both_hold_one.wait()
            first_lock.acquire()

    threading.Thread(target=other, daemon=True).start()
    with first_lock:
        both_hold_one.wait()
        second_lock.acquire()


def hold_the_interpreter(recorder: Recorder) -> None:
    # A mutex that is taken twice, by a call that keeps other threads of Python out.
    mutex = ctypes.create_string_buffer(64)
    lock = ctypes.PyDLL(None).pthread_mutex_lock
    lock(mutex)
    lock(mutex)


def compute_for_ever(recorder: Recorder) -> None:
    while True:
        pass


def block_between_epochs(recorder: Recorder) -> None:
    recorder.enter(Phase.BETWEEN_EPOCHS)
    on_epoch_end()


def on_epoch_end() -> None:
    os.read(os.pipe()[0], 1)


def pause(recorder: Recorder) -> None:
    """Stands still until it is told to go on, then trains."""
    os.write(1, b"pause\n")
    sys.stdin.readline()
    train(recorder, 1_000_000, seconds=0.005)


def leak(recorder: Recorder) -> None:
    """Three megabytes a second, however slow the machine is."""
    hoard = bytearray()
    began = time.monotonic()
    while True:
        train(recorder, 10, seconds=0.005)
        wanted = int((time.monotonic() - began) * LEAKED_BYTES_PER_SECOND)
        hoard += os.urandom(max(0, wanted - len(hoard)))


def go_on(recorder: Recorder) -> None:
    train(recorder, 1_000_000, seconds=0.005)


def go_on_slowly(recorder: Recorder) -> None:
    """Slower than ever, and in fits and starts, but it moves."""
    for seconds in (0.5, 1.0, 0.1, 1.2, 0.2, 1.0) * 3:
        began = time.monotonic()
        train(recorder, 1, seconds=seconds)
        if time.monotonic() - began > seconds + 0.2:
            os.write(1, b"too slow\n")
    recorder.enter(Phase.BETWEEN_EPOCHS)
    _compute(4.0)
    recorder.enter(Phase.VALIDATION_STARTING)
    _compute(4.0)
    recorder.enter(Phase.TRAINING)
    train(recorder, 100)


def _compute(seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass


if __name__ == "__main__":
    main(*sys.argv[1:])
