"""Starts a real training with parameter servers, and asks for the verdict.

`python -m tests.workers.servers even|uneven LOGDIR` plays one and keeps the record.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from tb_health_plugin.diagnosing import diagnose
from tb_health_plugin.diagnosis.as_json import Answer
from tests.workers.scenarios import ROOT, free_ports, is_written, wait

TRAINER = Path(__file__).with_name("server_trainer.py")
TASKS = (("chief", 0), ("worker", 0), ("ps", 0), ("ps", 1))
STEPS = 250


def play(spread: str, logdir: Path) -> Answer:
    """Trains to the end; then the servers are ended, as a launcher does."""
    free = iter(free_ports(len(TASKS)))
    cluster: dict[str, list[str]] = {}
    for role, _ in TASKS:
        cluster.setdefault(role, []).append(f"127.0.0.1:{next(free)}")
    logdir.mkdir(parents=True)
    started = {task: _start(task, cluster, spread, logdir) for task in TASKS}
    try:
        wait(lambda: started["chief", 0].poll() is not None)
    finally:
        for one in started.values():
            one.terminate()
        for one in started.values():
            one.wait()
    wait(lambda: is_written(logdir, len(TASKS)))
    return diagnose(logdir)


def _start(
    task: tuple[str, int], cluster: dict[str, list[str]], spread: str, logdir: Path
) -> "subprocess.Popen[bytes]":
    role, index = task
    config = {"cluster": cluster, "task": {"type": role, "index": index}}
    launcher = [sys.executable, "-m", "tb_health_plugin", "run", "--quiet"]
    program = [str(TRAINER), str(logdir), str(STEPS), spread]
    with (logdir / f"{role}{index}.txt").open("wb") as output:
        return subprocess.Popen(
            [*launcher, "--logdir", str(logdir), *program],
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=ROOT,
            env={**os.environ, "TF_CONFIG": json.dumps(config)},
        )


if __name__ == "__main__":
    answer = play(sys.argv[1], Path(sys.argv[2]))
    print(answer["verdict"]["id"], answer["verdict"]["detail"], answer["headline"])
