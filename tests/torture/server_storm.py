"""Stops, continues and kills TensorBoard while a training records below it."""

import contextlib
import hashlib
import random
import signal
import tempfile
import time
from collections import Counter
from pathlib import Path

from demo.tensorboard_server import TensorBoardServer, wait_until
from tests import runs
from tests.end_to_end.light_tensorboard import tensorboard
from tests.torture.chamber import Broken, Chamber
from tests.torture.victim import PATIENCE_SECONDS, Victim, victim

RUNS = "/data/plugin/health/runs"
LOADERS = ((), ("--load_fast=false",))


def torture(rng: random.Random, counts: Counter[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        logs = Path(folder)
        name = rng.choice(runs.names())
        (logs / name).symlink_to(runs.HERE / name)
        arguments = ["--logdir", folder, "--reload_interval=1", *rng.choice(LOADERS)]
        with victim(logs) as one:
            _storm(rng, arguments, counts)
            one.must_finish_well()
            one.end_recorded()
            before = _digest(logs)
            with tensorboard(arguments) as server:
                _answers_rightly(server, one, name)
            counts["TensorBoard started again"] += 1
            if _digest(logs) != before:
                raise Broken("TensorBoard changed the files it reads")


def _storm(rng: random.Random, arguments: list[str], counts: Counter[str]) -> None:
    with tensorboard(arguments) as server:
        for _ in range(rng.randrange(1, 5)):
            with contextlib.suppress(OSError):
                server.get(RUNS)
            server.process.send_signal(signal.SIGSTOP)
            time.sleep(rng.uniform(0.0, 0.5))
            server.process.send_signal(signal.SIGCONT)
            counts["TensorBoard SIGSTOP and SIGCONT"] += 1
        wait_until(lambda: server.get(RUNS))
        children = _children(server.process.pid)
        number = rng.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGTERM))
        server.process.send_signal(number)
        server.process.wait(PATIENCE_SECONDS)
        counts[f"TensorBoard {signal.Signals(number).name}"] += 1
    for pid in children:
        # TensorBoard's own loader ends by itself when TensorBoard is gone.
        wait_until(lambda pid=pid: not _lives(pid), seconds=PATIENCE_SECONDS)


def _answers_rightly(server: TensorBoardServer, one: Victim, name: str) -> None:
    def rows() -> dict[str, str]:
        answer = server.json(RUNS)
        found = {row["name"]: row["state"] for row in answer["runs"]}
        return found if answer["reading"]["complete"] and len(found) > 1 else {}

    states = wait_until(rows, seconds=PATIENCE_SECONDS)
    if states[one.logdir.name] != "finished":
        raise Broken(f"the training finished, and is {states[one.logdir.name]}")
    expected = runs.expected(name)["state"]
    if states[name] != expected:
        raise Broken(f"{name} is {states[name]}, and was {expected}")


def _digest(logs: Path) -> str:
    """Of all files, names and contents."""
    whole = hashlib.sha256()
    for path in sorted(logs.rglob("*.tfrecord")):
        whole.update(str(path).encode())
        whole.update(path.read_bytes())
    return whole.hexdigest()


def _children(pid: int) -> list[int]:
    listed = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(word) for word in listed.read_text().split()] if listed.exists() else []


def _lives(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


CHAMBER = Chamber(
    name="servers",
    promise="a TensorBoard that is stopped or killed costs nobody anything",
    round=torture,
    share=2.0,
)
