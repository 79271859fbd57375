"""What do the watcher and the hand-over cost?"""

import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

from bench.measuring import Result, compare
from tb_health_plugin.events import facts
from tb_health_plugin.events.attempt import HEALTH_DIRECTORY
from tb_health_plugin.events.event_file import EventFile, encode_fact
from tb_health_plugin.reading.attempt_reader import AttemptReader
from tb_health_plugin.writing.black_box import BlackBox, Progress, make_file

TIMES = 20_000
WATCHED_SECONDS = 20.0

# A process that records and sleeps; it prints how to find its watcher.
_IDLE_TRAINER = """
    import sys, time
    from pathlib import Path
    from tb_health_plugin.events.attempt import new_attempt_directory
    from tb_health_plugin.recording.recorder import Recorder
    began = time.monotonic()
    logdir = Path(sys.argv[1])
    recorder = Recorder(logdir, new_attempt_directory(logdir))
    while not recorder._box.watcher_beat_at:
        time.sleep(0.001)
    print(recorder._box.watcher_beat_at - began, flush=True)
    time.sleep(600)
"""


def ask(rounds: int) -> list[Result]:
    return [_hand_over(rounds), _watcher()]


def _hand_over(rounds: int) -> Result:
    box = BlackBox(make_file())
    progress = Progress(0, 0.0, 0.0, 0.0, 0.0, 0.0, 2, 0)
    fact = facts.EpochEnded(wall_time=1.0, epoch=1, metrics={"loss": 0.5})

    def publish() -> float:
        began = time.perf_counter()
        for step in range(TIMES):
            progress.step = step
            box.set_progress(progress)
        return (time.perf_counter() - began) / TIMES * 1e6

    def put() -> float:
        began = time.perf_counter()
        for _ in range(TIMES // 100):
            box.put(encode_fact(fact))
        taken = time.perf_counter() - began
        assert sum(1 for _ in box.take()) == TIMES // 100
        return taken / (TIMES // 100) * 1e6

    def write() -> float:
        with tempfile.TemporaryDirectory() as folder:
            file = EventFile(Path(folder) / "records", now=1.0)
            began = time.perf_counter()
            for _ in range(TIMES // 100):
                file.append_fact(fact)
            taken = time.perf_counter() - began
            file.close()
        return taken / (TIMES // 100) * 1e6

    result = compare(
        "Cost of handing over, in the trainer",
        {
            "publish a step": publish,
            "hand a fact over": put,
            "write that fact to a file instead": write,
        },
        unit="µs",
        rounds=rounds,
    )
    box.close()
    return result


def _watcher() -> Result:
    """Start-up, memory and CPU of a watcher beside an idle trainer, measured once."""
    with tempfile.TemporaryDirectory() as logs:
        trainer = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(_IDLE_TRAINER), logs],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert trainer.stdout is not None
        starts = float(trainer.stdout.readline())
        while not (watcher := _watcher_below(logs)):
            time.sleep(0.05)
        before = _cpu_seconds(watcher)
        time.sleep(WATCHED_SECONDS)
        share = (_cpu_seconds(watcher) - before) / WATCHED_SECONDS
        numbers = {
            "running after, s": starts,
            "memory of its own (USS), MiB": _uss_mib(watcher),
            "share of one core at 1 Hz, %": share * 100,
        }
        killed_at = time.monotonic()
        trainer.kill()
        (directory,) = (Path(logs) / HEALTH_DIRECTORY).iterdir()
        _wait_for_the_end(directory)
        numbers["a SIGKILL is on disk after, s"] = time.monotonic() - killed_at
        trainer.communicate()
        while Path(f"/proc/{watcher}").exists():
            time.sleep(0.05)
    return Result("The watcher", "measured once", numbers, {})


def _wait_for_the_end(directory: Path) -> None:
    reader = AttemptReader(directory)
    while reader.attempt.last(facts.ProcessEnded) is None:
        time.sleep(0.01)
        reader.refresh()


def _watcher_below(logs: str) -> int:
    """The watcher that has files open below this directory."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if b"tb_health_plugin.watching" not in path.read_bytes():
                continue
            links = [str(fd.readlink()) for fd in (path.parent / "fd").iterdir()]
        except OSError:
            continue
        if any(link.startswith(logs) for link in links):
            return int(path.parent.name)
    return 0


def _cpu_seconds(pid: int) -> float:
    text = Path(f"/proc/{pid}/stat").read_text()
    fields = text[text.rindex(")") + 2 :].split()
    return (int(fields[11]) + int(fields[12])) / 100


def _uss_mib(pid: int) -> float:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    kib = sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))
    return kib / 1024
