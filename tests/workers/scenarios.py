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
PATIENCE_SECONDS = 240.0
# What the trainer waits for; see there.
LIMITS_SET = "limits_set"
# Room for TensorFlow, and for a little more.
MEMORY_LIMIT_BYTES = 1_500 << 20
# A tenth of a core.
QUOTA_MICROSECONDS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """What happens to worker 1, and what must be told.

    Attributes:
        trainer: What its program is told to do.
        causes: Ids of verdicts that name it.
        worker: The one that must be named; empty if nothing is wrong.
        details: Of these verdicts; any if empty.
        size: How many workers there are.
        steps: Steps of worker 1.
        missing: Steps that the others have more.
        group: Kind of control group that worker 1 runs in.
        apart: They run in network namespaces of their own, and the wire is cut.
    """

    trainer: str = ""
    causes: tuple[str, ...]
    details: tuple[str, ...] = ()
    worker: str = "worker 1"
    size: int = 2
    steps: int = 150
    missing: int = 0
    group: str = ""
    apart: bool = False


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
    "slow_data": Scenario(
        trainer="slow_data", causes=("straggler",), details=("data",), steps=40
    ),
    "cpu_quota": Scenario(
        trainer="work",
        causes=("straggler",),
        details=("cpu_quota",),
        steps=60,
        group="cpu",
    ),
    "fewer_batches": Scenario(causes=("peer_lost",), steps=80, missing=70),
    "network_cut": Scenario(
        causes=("peer_lost",), details=("network",), worker="", apart=True
    ),
    "one_of_three_drags": Scenario(
        trainer="slow_data", causes=("straggler",), details=("data",), size=3, steps=40
    ),
    "one_of_four_killed": Scenario(causes=("killed_outside",), size=4),
}
KILLED = ("killed", "one_of_four_killed")


def play(name: str, logdir: Path) -> Answer:
    """Runs a scenario to its end and judges what was recorded.

    Raises:
        OSError: No control group can be made here.
    """
    scenario = SCENARIOS[name]
    with contextlib.ExitStack() as stack:
        group = stack.enter_context(_group(scenario.group)) if scenario.group else None
        wire = stack.enter_context(_wire()) if scenario.apart else None
        workers = _start(logdir, scenario, group, wire)
        first, second, *_ = workers
        try:
            _happen(name, second, logdir / "worker1.txt", group, wire)
            wait(lambda: first.poll() is not None)
            if name == "frozen":
                # Its own watcher says so, too, in its own time.
                wait(lambda: _told(logdir, "stopped_process") or second.poll())
        finally:
            for one in workers:
                if one.poll() is None and one is not first and name != "frozen":
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        one.wait(20)
                with contextlib.suppress(ProcessLookupError):
                    one.kill()
                one.wait()
        wait(lambda: is_written(logdir, scenario.size))
    return diagnose(logdir)


def right(name: str, answer: Answer) -> bool:
    """The right worker and the right cause."""
    scenario, verdict = SCENARIOS[name], answer["verdict"]
    named = verdict["place"].get("worker", "")
    is_detail = not scenario.details or verdict["detail"] in scenario.details
    return verdict["id"] in scenario.causes and is_detail and named == scenario.worker


def _start(
    logdir: Path, scenario: Scenario, group: Path | None, wire: "Wire | None"
) -> list["subprocess.Popen[bytes]"]:
    size = scenario.size
    hosts = wire.hosts if wire else ("127.0.0.1",) * size
    places = zip(hosts, free_ports(size), strict=True)
    cluster = {"worker": [f"{host}:{port}" for host, port in places]}
    logdir.mkdir(parents=True, exist_ok=True)
    others = scenario.trainer if scenario.trainer == "work" else "nothing"
    started = []
    for index in range(size):
        task = {"type": "worker", "index": index}
        config = json.dumps({"cluster": cluster, "task": task})
        code = [sys.executable, str(TRAINER), str(logdir)]
        is_it = index == 1
        steps = scenario.steps + (0 if is_it else scenario.missing)
        wrong = (scenario.trainer or "nothing") if is_it else others
        command = [*code, str(steps), wrong]
        if group is not None and is_it:
            into = f'echo $$ > {group}/cgroup.procs && exec "$@"'
            command = ["sh", "-c", into, "sh", *command]
        if wire is not None:
            command = ["ip", "netns", "exec", wire.spaces[index], *command]
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
    return started


def _happen(
    name: str,
    second: "subprocess.Popen[bytes]",
    output: Path,
    group: Path | None,
    wire: "Wire | None",
) -> None:
    """What the trainer cannot do to itself."""

    def has_done(step: int) -> bool:
        words = f"step {step}\n".encode()
        return words in output.read_bytes() or second.poll() is not None

    if wire is not None:
        wait(lambda: has_done(60))
        wire.cut()
    if name in KILLED:
        wait(lambda: has_done(60))
        second.send_signal(signal.SIGKILL)
    if name == "cpu_quota" and group is not None:
        wait(lambda: has_done(3))
        (group / "cpu.cfs_quota_us").write_text(str(QUOTA_MICROSECONDS))
        output.with_name(LIMITS_SET).touch()


@dataclass(frozen=True, slots=True)
class Wire:
    """Two network namespaces and what joins them."""

    spaces: tuple[str, str]
    hosts: tuple[str, str] = ("10.77.0.1", "10.77.0.2")

    def cut(self) -> None:
        _ip("-n", self.spaces[0], "link", "set", "wire0", "down")


@contextlib.contextmanager
def _wire() -> Iterator[Wire]:
    mark = secrets.token_hex(3)
    wire = Wire((f"tbh{mark}a", f"tbh{mark}b"))
    try:
        for space in wire.spaces:
            _ip("netns", "add", space)
        ends = [f"tbh{mark}{n}" for n in (0, 1)]
        _ip("link", "add", ends[0], "type", "veth", "peer", "name", ends[1])
        for number, space in enumerate(wire.spaces):
            _ip("link", "set", ends[number], "netns", space, "name", f"wire{number}")
            address = f"{wire.hosts[number]}/24"
            _ip("-n", space, "addr", "add", address, "dev", f"wire{number}")
            for device in ("lo", f"wire{number}"):
                _ip("-n", space, "link", "set", device, "up")
        yield wire
    finally:
        for space in wire.spaces:
            subprocess.run(["ip", "netns", "del", space], check=False)


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True)


@contextlib.contextmanager
def _group(kind: str) -> Iterator[Path]:
    group = GROUPS / kind / f"tb_health_{secrets.token_hex(4)}"
    group.mkdir()
    if kind == "memory":
        (group / "memory.limit_in_bytes").write_text(str(MEMORY_LIMIT_BYTES))
    try:
        yield group
    finally:
        wait(lambda: not (group / "cgroup.procs").read_text())
        group.rmdir()


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def _told(logdir: Path, cause: str) -> bool:
    return any(row["cause"] == cause for row in _rows(logdir))


def is_written(logdir: Path, size: int) -> bool:
    """Every worker has an end on record."""
    states = [row["state"] for row in _rows(logdir)]
    return len(states) == size and not {"running", "stuck"} & set(states)


def _rows(logdir: Path) -> list[WorkerPayload]:
    workers = diagnose(logdir)["workers"]
    return workers["table"] if workers else []


def wait(until: Callable[[], object], seconds: float = PATIENCE_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not until() and time.monotonic() < deadline:
        time.sleep(0.2)
