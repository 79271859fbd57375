"""Causes every ending for real, with the hook and with the launcher, and tabulates it.

python -m tests.watching.endings_table      writes docs/endings.md
"""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from demo.tensorboard_server import wait_until
from tb_health_plugin.diagnosis.story import tell
from tb_health_plugin.diagnosis.verdict import Story
from tb_health_plugin.events import facts
from tb_health_plugin.reading.liveness import STILL_WRITING_SECONDS, life_of
from tb_health_plugin.reading.run_history import Attempt
from tests.watching.conftest import (
    ROOT,
    command,
    memory_group,
    read,
    wait_for_end,
    watchers,
)

DOCUMENT = ROOT / "docs/endings.md"
EARLY = Path(__file__).with_name("stopped_early.py")
LIMIT_BYTES = 150 << 20
ENDINGS = (
    *("finished", "stopped_early", "exception", "interrupt", "sys_exit", "os_exit"),
    *("out_of_memory", "SIGKILL", "killed_together", "machine_restarted"),
    *("nobody_watched", "worker_killed", "SIGTERM", "SIGTERM_slurm"),
    *("SIGTERM_kubernetes", "time_limit", "cpu_limit", "SIGHUP"),
    *("segfault", "abort", "SIGBUS", "SIGFPE", "SIGILL", "SIGXCPU"),
)
# What a scheduler tells its jobs of itself.
ENVIRONMENTS = {
    "SIGTERM_slurm": {"SLURM_JOB_ID": "7", "SLURM_JOB_NAME": "train"},
    "SIGTERM_kubernetes": {"KUBERNETES_SERVICE_HOST": "10.0.0.1"},
}
# The launcher always watches.
NOT_BY_LAUNCHER = ("nobody_watched",)
# What stands before the program. On a busy machine it takes seconds to start.
LIMITS = {
    "time_limit": ("timeout", "10"),
    "cpu_limit": ("sh", "-c", 'ulimit -t 4; exec "$@"', "-"),
}
# At which step these strike is not the same twice.
AT_ANY_STEP = (
    *("out_of_memory", "time_limit", "cpu_limit", "killed_together"),
    *("machine_restarted", "nobody_watched"),
)
HEAD = """# Endings, as they were told

Each of these was caused for real by `python -m tests.watching.endings_table`, which
wrote this table. With the hook a small training was under way; under the launcher a
program that knows nothing of us, and does not train. A live test causes them again
and compares.

* `stopped_early` is Keras with `EarlyStopping`, `time_limit` is `timeout`, `cpu_limit`
  is `ulimit -t`, `out_of_memory` the kernel's kill at the limit of a control group.
* In `killed_together` trainer, launcher and watcher are killed at once, as with a
  container. `machine_restarted` is the same record, read with another boot id; no
  machine was restarted for it.
* `SIGTERM_slurm` and `SIGTERM_kubernetes` have the variables of these schedulers set;
  no scheduler sent the signal.
* In `nobody_watched` there is no watcher (`watcher=False`), and SIGKILL. In
  `worker_killed` a child of the training is killed, and the training goes on.

What could not be caused for real is named in
[watching.md](watching.md#what-was-tried-and-what-was-not).

| ending | status | with the hook | under `tb-health run` |
| --- | --- | --- | --- |
"""


@dataclass(frozen=True)
class Told:
    """What a person would read, and how the program ended."""

    status: str
    words: str


def by_hook(ending: str, logdir: Path) -> Told:
    if ending == "stopped_early":
        return _cause([sys.executable, str(EARLY), str(logdir)], ending, logdir)
    return _cause(command(logdir, ending), ending, logdir)


def by_launcher(ending: str, logdir: Path) -> Told:
    run = [sys.executable, "-m", "tb_health_plugin", "run", "--logdir", str(logdir)]
    if ending in NOT_BY_LAUNCHER:
        return Told("", "–")
    if ending == "stopped_early":
        return _cause([*run, str(EARLY)], ending, logdir)
    program = str(Path(__file__).with_name("plain_ending.py"))
    return _cause([*run, program, ending], ending, logdir)


def rows() -> list[str]:
    """The lines of the table, from real ends, several at a time."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(4) as pool:

        def told(by: Callable[[str, Path], Told], ending: str) -> Told:
            return by(ending, Path(folder, f"{ending}-{by.__name__}"))

        hooks = [pool.submit(told, by_hook, ending) for ending in ENDINGS]
        launched = [pool.submit(told, by_launcher, ending) for ending in ENDINGS]
        return [
            f"| {ending} | {one.result().status} | {one.result().words} | "
            f"{other.result().words} |"
            for ending, one, other in zip(ENDINGS, hooks, launched, strict=True)
        ]


def _cause(arguments: list[str], ending: str, logdir: Path) -> Told:
    logdir.mkdir()
    with contextlib.ExitStack() as stack:
        env = {**os.environ, **ENVIRONMENTS.get(ending, {})}
        if ending == "out_of_memory":
            group = stack.enter_context(memory_group(LIMIT_BYTES))
            env["TB_HEALTH_TEST_GROUP"] = str(group)
        process = subprocess.Popen(
            [*LIMITS.get(ending, ()), *arguments],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=ROOT,
            env=env,
        )
        root = Path("/")
        if ending in ("killed_together", "machine_restarted"):
            attempt, now = kill_together(process, logdir)
        elif ending == "nobody_watched":
            process.wait()
            attempt, now = read(logdir), time.time()
        else:
            process.wait()
            attempt, now = wait_for_end(logdir), time.time()
        if ending == "machine_restarted":
            root = restarted_machine(logdir / "root")
        story = tell(attempt, life_of(attempt, now, root=root))
    lost = "".join(
        f". A child was ended by {signal.Signals(one.signal).name}"
        for one in attempt.all(facts.ChildEnded)
        if one.signal
    )
    return Told(_status(process.returncode), f"{_words(story, ending)}{lost}")


def restarted_machine(root: Path) -> Path:
    """What a reader finds on a machine that was started five seconds ago."""
    kernel = root / "proc/sys/kernel/random"
    kernel.mkdir(parents=True)
    (kernel / "boot_id").write_text("another-boot\n")
    (root / "proc/uptime").write_text("5.00 9.00\n")
    return root


def kill_together(
    process: "subprocess.Popen[bytes]", logdir: Path
) -> tuple[Attempt, float]:
    """Nobody is left to write the end; a moment after which nobody waits for one."""
    (watcher,) = wait_until(lambda: watchers(logdir))
    wait_until(lambda: read(logdir).last_seen_at and len(read(logdir).samples))
    os.kill(watcher, signal.SIGKILL)
    process.kill()
    process.wait()
    pid = read(logdir).start.pid
    # Under the launcher the program is another process, which goes with it.
    wait_until(lambda: not Path(f"/proc/{pid}").exists())
    return read(logdir), time.time() + STILL_WRITING_SECONDS


def _words(story: Story, ending: str) -> str:
    verdict = story.verdict
    why = f"`{verdict.id}`, {verdict.confidence}: " if verdict else ""
    headline = story.headline
    if ending in AT_ANY_STEP:
        headline = headline.split(" at step ")[0]
    return f"{why}{headline}"


def _status(code: int) -> str:
    return str(code) if code >= 0 else signal.Signals(-code).name


if __name__ == "__main__":
    DOCUMENT.write_text(HEAD + "\n".join(rows()) + "\n")
