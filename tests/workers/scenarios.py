"""Starts real workers, lets something happen to one, and asks for the verdict."""

import contextlib
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tb_health_plugin.diagnosing import diagnose
from tb_health_plugin.diagnosis.as_json import Answer, WorkerPayload

TRAINER = Path(__file__).with_name("trainer.py")
ROOT = TRAINER.parents[2]
GROUPS = Path("/sys/fs/cgroup")
# A machine that does much else at the same time is given time.
PATIENCE_SECONDS = 150.0
# Room for TensorFlow, and for a little more.
MEMORY_LIMIT_BYTES = 1_500 << 20
# A tenth of a core.
QUOTA_MICROSECONDS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """What happens to worker 1 of two, and what must be told.

    Attributes:
        trainer: What its program is told to do.
        causes: Ids of verdicts that name it.
        worker: The one that must be named; empty if nothing is wrong.
        steps: Steps of worker 1.
        missing: Steps that the other one has more.
        group: Kind of control group that worker 1 runs in.
    """

    trainer: str = ""
    causes: tuple[str, ...]
    worker: str = "worker 1"
    steps: int = 150
    missing: int = 0
    group: str = ""


SCENARIOS = {
    "healthy": Scenario(causes=("healthy",), worker=""),
    "killed": Scenario(causes=("killed_outside",)),
    "frozen": Scenario(trainer="frozen", causes=("stopped_process",)),
    "out_of_memory": Scenario(
        trainer="out_of_memory",
        # It takes more with every step, which the record shows, too.
        causes=("host_oom", "memory_leak"),
        group="memory",
    ),
    "slow_data": Scenario(trainer="slow_data", causes=("straggler",), steps=60),
    "cpu_quota": Scenario(trainer="work", causes=("straggler",), steps=60, group="cpu"),
    "fewer_batches": Scenario(causes=("peer_lost",), steps=80, missing=70),
}


def play(name: str, logdir: Path) -> Answer:
    """Runs a scenario to its end and judges what was recorded.

    Raises:
        OSError: No control group can be made here.
    """
    scenario = SCENARIOS[name]
    with contextlib.ExitStack() as stack:
        group = stack.enter_context(_group(scenario.group)) if scenario.group else None
        first, second = _start(logdir, scenario, group)
        try:
            _happen(name, second, group)
            _wait(lambda: first.poll() is not None)
            if name == "frozen":
                # Its own watcher says so, too, in its own time.
                _wait(lambda: _told(logdir, "stopped_process") or second.poll())
        finally:
            for one in (first, second):
                if one.poll() is None and one is second and name != "frozen":
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        one.wait(20)
                with contextlib.suppress(ProcessLookupError):
                    one.kill()
                one.wait()
        _wait(lambda: _is_written(logdir))
    return diagnose(logdir)


def right(name: str, answer: Answer) -> bool:
    """The right worker and the right cause."""
    scenario, verdict = SCENARIOS[name], answer["verdict"]
    named = verdict["place"].get("worker", "")
    return verdict["id"] in scenario.causes and named == scenario.worker


def _start(
    logdir: Path, scenario: Scenario, group: Path | None
) -> tuple["subprocess.Popen[bytes]", "subprocess.Popen[bytes]"]:
    cluster = {"worker": [f"127.0.0.1:{port}" for port in _ports(2)]}
    logdir.mkdir(parents=True, exist_ok=True)
    others = scenario.trainer if scenario.trainer == "work" else "nothing"
    steps = (scenario.steps + scenario.missing, scenario.steps)
    wrong = (others, scenario.trainer or "nothing")
    started = []
    for index in (0, 1):
        task = {"type": "worker", "index": index}
        config = json.dumps({"cluster": cluster, "task": task})
        code = [sys.executable, str(TRAINER), str(logdir)]
        command = [*code, str(steps[index]), wrong[index]]
        if group is not None and index == 1:
            into = f'echo $$ > {group}/cgroup.procs && exec "$@"'
            command = ["sh", "-c", into, "sh", *command]
        with (logdir / f"worker{index}.txt").open("wb") as output:
            started.append(
                subprocess.Popen(
                    command,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    cwd=ROOT,
                    env={
                        **os.environ,
                        "TF_CONFIG": config,
                        "TF_CPP_MIN_LOG_LEVEL": "1",
                    },
                )
            )
    return started[0], started[1]


def _happen(name: str, second: "subprocess.Popen[bytes]", group: Path | None) -> None:
    """What the trainer cannot do to itself."""
    output = Path(f"/proc/{second.pid}/fd/1").readlink()
    if name == "killed":
        _wait(lambda: b"step 60" in output.read_bytes() or second.poll() is not None)
        second.send_signal(signal.SIGKILL)
    if name == "cpu_quota" and group is not None:
        _wait(lambda: b"step 3" in output.read_bytes() or second.poll() is not None)
        (group / "cpu.cfs_quota_us").write_text(str(QUOTA_MICROSECONDS))


@contextlib.contextmanager
def _group(kind: str) -> Iterator[Path]:
    group = GROUPS / kind / f"tb_health_{secrets.token_hex(4)}"
    group.mkdir()
    if kind == "memory":
        (group / "memory.limit_in_bytes").write_text(str(MEMORY_LIMIT_BYTES))
    try:
        yield group
    finally:
        _wait(lambda: not (group / "cgroup.procs").read_text())
        group.rmdir()


def _ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def _told(logdir: Path, cause: str) -> bool:
    return any(row["cause"] == cause for row in _rows(logdir))


def _is_written(logdir: Path) -> bool:
    """Every worker has an end on record."""
    states = [row["state"] for row in _rows(logdir)]
    return len(states) == 2 and not {"running", "stuck"} & set(states)


def _rows(logdir: Path) -> list[WorkerPayload]:
    workers = diagnose(logdir)["workers"]
    return workers["table"] if workers else []


def _wait(until: Callable[[], object], seconds: float = PATIENCE_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not until() and time.monotonic() < deadline:
        time.sleep(0.2)
