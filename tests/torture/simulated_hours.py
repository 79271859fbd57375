"""Days of recording in minutes: the writer under a clock that is moved on by hand.

`python -m tests.torture.simulated_hours 72` lets the part that the watcher runs each
second run for so many hours of its own time, four steps a second, and prints its
memory and its files every few hours.
"""

import os
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

from tb_health_plugin.events import facts
from tb_health_plugin.events.attempt import new_attempt_directory
from tb_health_plugin.events.event_file import encode_fact
from tb_health_plugin.reading.attempt_reader import AttemptReader
from tb_health_plugin.recording import this_process
from tb_health_plugin.writing import scribe
from tb_health_plugin.writing.black_box import BlackBox, Progress, make_file
from tb_health_plugin.writing.phases import Phase
from tb_health_plugin.writing.terms import Terms
from tests.torture.chamber import Broken, Chamber

STEPS_A_SECOND = 4
HOUR = 3_600
# What an hour may take on disk, and what a process may hold more after it.
MOST_MB_PER_HOUR = 5.0
MORE_MIB = 8.0


def torture(rng: random.Random, counts: Counter[str]) -> None:
    simulate(1, counts)


def simulate(hours: int, counts: Counter[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        logs, now = Path(folder), [time.time()]
        directory = new_attempt_directory(logs)
        box, real = BlackBox(make_file()), scribe.time
        progress = Progress(0, 0.0, 0.5, 0.0, 0.0, 0.0, int(Phase.TRAINING), 0)
        scribe.time = SimpleNamespace(time=lambda: now[0], monotonic=time.monotonic)
        try:
            writer = scribe.Scribe(box, _terms(logs, directory), recorded_by="watcher")
            held = [_resident_mib()]
            for hour in range(hours):
                for _ in range(HOUR):
                    now[0] += 1.0
                    progress.step += STEPS_A_SECOND
                    box.set_progress(progress)
                    if progress.step % 20 == 0:
                        box.put(encode_fact(_spent(now[0], progress.step)))
                    writer.tick()
                held.append(_resident_mib())
                counts["hours"] += 1
                counts["steps"] += HOUR * STEPS_A_SECOND
                if hour % 6 == 5:
                    print(f"{hour + 1} h: {held[-1]:.1f} MiB", flush=True)
            writer.close()
        finally:
            scribe.time = real
            box.close()
        _check(directory, hours, held, progress.step)


def _check(directory: Path, hours: int, held: list[float], steps: int) -> None:
    size = sum(path.stat().st_size for path in directory.iterdir()) / 1e6
    if size / hours > MOST_MB_PER_HOUR:
        raise Broken(f"{size / hours:.1f} MB on disk per hour")
    # The first hour loads what is loaded once.
    if held[-1] > held[min(1, len(held) - 1)] + MORE_MIB:
        raise Broken(f"memory grows: {held}")
    reader = AttemptReader(directory)
    reader.refresh()
    if reader.problems or reader.attempt.last_step != steps:
        raise Broken(f"{reader.attempt.last_step} of {steps} steps are known")


def _terms(logs: Path, directory: Path) -> Terms:
    return Terms(
        pid=os.getpid(),
        logdir=str(logs),
        directory=str(directory),
        period_seconds=1.0,
        start=this_process.start_fields(time.time()),
        terminal="",
        output="",
        stacks_signal=0,
        written_each=1,
        trains_soon=True,
    )


def _spent(now: float, step: int) -> facts.TimeSpent:
    return facts.TimeSpent(
        wall_time=now, step=step, training=0, seconds=5.0, steps=20, step_seconds=4.8
    )


def _resident_mib() -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    line = next(one for one in lines if one.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


CHAMBER = Chamber(
    name="hours",
    promise="days of recording stay small, on disk and in memory, and lose no step",
    round=torture,
)


if __name__ == "__main__":
    done: Counter[str] = Counter()
    simulate(int(sys.argv[1]), done)
    print(dict(done))
