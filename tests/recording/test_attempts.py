"""One recording per log directory, and nothing left of those that are over."""

import gc
import os
from pathlib import Path

from demo.tensorboard_server import wait_until
from tb_health_plugin.recording import attempts, process_end
from tb_health_plugin.recording.process_end import ProcessEnd


def trial(logdir: Path) -> None:
    attempts.attempt_for(logdir, watcher=False).trainings = 1


def descriptors() -> int:
    gc.collect()
    return len(os.listdir("/proc/self/fd"))


def test_a_sweep_of_many_trials_holds_no_more_than_one(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(attempts, "_attempts", {})
    monkeypatch.setattr(process_end, "_listeners", [])
    monkeypatch.setattr(process_end, "_seen", None)
    trial(tmp_path / "first")
    trial(tmp_path / "second")
    before = descriptors()

    for number in range(10):
        trial(tmp_path / str(number))

    # Each thread closes its files as soon as it sees that it is over.
    wait_until(lambda: descriptors() <= before)
    assert len(process_end._listeners) == 1
    process_end._tell(ProcessEnd(reason="finished", happened_at=1.0))
