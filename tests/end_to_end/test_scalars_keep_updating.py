"""The user's own scalars keep updating, whatever our files beside them do."""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from demo.tensorboard_server import TensorBoardServer, tensorboard, wait_until
from tb_health_plugin.events.attempt import HEALTH_DIRECTORY
from tb_health_plugin.events.framing import frame

pytestmark = pytest.mark.live

Start = Callable[..., "subprocess.Popen[str]"]

SCALARS = "/data/plugin/scalars/scalars?run=run&tag=mine"
# A length-delimited field that announces more bytes than there are.
UNPARSABLE_EVENT = b"\x2a\xff\x7f"


@pytest.fixture
def growing(
    tmp_path: Path, loader: tuple[str, ...], start_program: Start
) -> Iterator[tuple[TensorBoardServer, "subprocess.Popen[str]"]]:
    """TensorBoard, and a program that writes scalars and health into one run."""
    program = start_program("scalars_beside_health.py", tmp_path / "run")
    arguments = ["--logdir", str(tmp_path), "--reload_interval=1", *loader]
    with tensorboard(arguments) as server:
        yield server, program


def last_step(server: TensorBoardServer) -> int:
    """The newest point of the user's scalar; our tab is looked at as well."""
    server.json("/data/plugin/health/run?run=run")
    newest: tuple[float, int, float] = server.json(SCALARS)[-1]
    return newest[1]


def follow_to_the_end(
    server: TensorBoardServer, program: "subprocess.Popen[str]"
) -> None:
    """Fails unless the scalars grow twice, and in the end to their last point."""
    first = wait_until(lambda: last_step(server))
    second = wait_until(lambda: (now := last_step(server)) > first and now)
    wait_until(lambda: last_step(server) > second)
    written, _ = program.communicate()
    wait_until(lambda: last_step(server) == int(written))


def test_scalars_grow_to_their_last_point_beside_a_busy_recorder(
    growing: tuple[TensorBoardServer, "subprocess.Popen[str]"],
) -> None:
    server, program = growing

    follow_to_the_end(server, program)

    def our_last_step() -> int:
        step: int = server.json("/data/plugin/health/run?run=run")["run"]["step"]
        return step

    # Each of the two readers has its own moment of reading.
    wait_until(lambda: our_last_step() == last_step(server))


def test_a_damaged_file_of_ours_does_not_stop_the_scalars_beside_it(
    tmp_path: Path, growing: tuple[TensorBoardServer, "subprocess.Popen[str]"]
) -> None:
    server, program = growing
    damaged = tmp_path / "run" / HEALTH_DIRECTORY / "damaged"
    damaged.mkdir(parents=True)
    noise = os.urandom(100_000)
    (damaged / "records.000.tfrecord").write_bytes(noise + frame(UNPARSABLE_EVENT))
    (damaged / "samples.000.tfrecord").write_bytes(frame(UNPARSABLE_EVENT) + noise)

    follow_to_the_end(server, program)

    problems = server.json("/data/plugin/health/runs")["reading"]["problems"]
    assert {Path(one["file"]).parts[-2:] for one in problems} == {
        ("damaged", "records.000.tfrecord"),
        ("damaged", "samples.000.tfrecord"),
    }


def test_our_files_add_no_run_to_those_of_tensorboard(
    recorded_runs: Path, server: TensorBoardServer
) -> None:
    theirs = {
        str(file.parent.relative_to(recorded_runs))
        for file in recorded_runs.rglob("*tfevents*")
    }

    wait_until(lambda: theirs <= set(server.json("/data/runs")))

    assert set(server.json("/data/runs")) == theirs
