"""The tab is right whatever TensorBoard was told to read, and wherever it serves."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from demo.tensorboard_server import TensorBoardServer, wait_until
from tb_health_plugin.events import facts
from tb_health_plugin.events.attempt import new_attempt_directory
from tb_health_plugin.recording.recorder import Recorder
from tests.end_to_end.light_tensorboard import tensorboard

pytestmark = pytest.mark.live

RUNS = "/data/plugin/health/runs"
RELOAD = "--reload_interval=1"
# TensorBoard asks for its own fonts without the prefix.
OWN_FONTS = "/font-roboto/"

Record = Callable[[Path], Recorder]


@pytest.fixture
def record() -> Iterator[Record]:
    """Records a run that goes on until the test ends."""
    recorders: list[Recorder] = []

    def start(run: Path) -> Recorder:
        recorders.append(
            Recorder(
                run, new_attempt_directory(run), period_seconds=0.05, watcher=False
            )
        )
        return recorders[-1]

    yield start
    for recorder in recorders:
        recorder.close(facts.RunEnded(wall_time=time.time(), reason="finished"))


def names_of_runs(server: TensorBoardServer) -> list[str]:
    """The names, once there are any."""

    def names() -> list[str]:
        return [run["name"] for run in server.json(RUNS)["runs"]]

    found: list[str] = wait_until(names)
    return found


@pytest.mark.browser
def test_the_tab_works_behind_a_path_prefix(
    tmp_path: Path, record: Record, open_page: Callable[[str], Any]
) -> None:
    record(tmp_path / "run")

    with tensorboard(["--logdir", str(tmp_path), "--path_prefix=/some/prefix"]) as tb:
        assert tb.url.endswith("/some/prefix")
        page = open_page(f"{tb.url}/#health&p.health.view=run&p.health.run=run")
        page.health.get_by_role("heading", name="Running").wait_for()
        page.settle()

    ours = [url for url in page.requests if "/plugin/health/" in url]
    assert any("/lane" in url for url in ours)
    assert all(url.startswith(f"{tb.url}/data/plugin/health/") for url in ours)
    assert [c for c in page.complaints if OWN_FONTS not in c] == []


@pytest.mark.browser
def test_the_tab_works_under_a_window_title_of_the_users(
    tmp_path: Path, record: Record, open_page: Callable[[str], Any]
) -> None:
    record(tmp_path / "run")

    with tensorboard(["--logdir", str(tmp_path), "--window_title=My project"]) as tb:
        page = open_page(f"{tb.url}/#health")
        page.health.get_by_role("link", name="run").first.wait_for()

        assert page.title == "My project"


def test_runs_carry_the_names_that_a_logdir_spec_gives(
    tmp_path: Path, record: Record
) -> None:
    for run in ("one/x", "one/y", "two"):
        record(tmp_path / run)

    spec = f"--logdir_spec=a:{tmp_path / 'one'},b:{tmp_path / 'two'}"
    with tensorboard([spec, RELOAD]) as server:
        assert names_of_runs(server) == ["a/x", "a/y", "b"]


def test_an_empty_logdir_has_no_runs_and_no_problems(tmp_path: Path) -> None:
    with tensorboard(["--logdir", str(tmp_path), RELOAD]) as server:
        answer = wait_until(
            lambda: (a := server.json(RUNS))["reading"]["complete"] and a
        )

        assert answer["logdirs"] == [str(tmp_path)]
        assert answer["runs"] == []
        assert answer["reading"]["problems"] == []


@pytest.mark.browser
def test_an_empty_logdir_shows_what_to_paste(
    tmp_path: Path, open_page: Callable[[str], Any]
) -> None:
    with tensorboard(["--logdir", str(tmp_path), RELOAD]) as server:
        page = open_page(f"{server.url}/#health")

        page.health.get_by_role("heading", name="No runs here yet").wait_for()
        page.health.get_by_text("callbacks=[HealthCallback(").wait_for()


def test_a_logdir_that_appears_later_is_found(
    tmp_path: Path, record: Record, loader: tuple[str, ...]
) -> None:
    later = tmp_path / "later"

    with tensorboard(["--logdir", str(later), RELOAD, *loader]) as server:
        assert server.json(RUNS)["runs"] == []
        record(later / "run")

        assert names_of_runs(server) == ["run"]


def test_a_run_that_goes_on_is_followed(
    tmp_path: Path, record: Record, loader: tuple[str, ...]
) -> None:
    recorder = record(tmp_path / "run")

    with tensorboard(["--logdir", str(tmp_path), RELOAD, *loader]) as server:

        def row() -> dict[str, Any]:
            (found,) = server.json(RUNS)["runs"]
            return dict(found)

        for step in (10, 20):
            recorder.progress.step = step
            recorder.publish()
            wait_until(lambda step=step: row()["step"] == step)

        assert row()["state"] == "running"


def test_a_relative_logdir_is_read(tmp_path: Path, record: Record) -> None:
    record(tmp_path / "run")

    with tensorboard(["--logdir", os.path.relpath(tmp_path), RELOAD]) as server:
        assert names_of_runs(server) == ["run"]
        assert server.json(RUNS)["logdirs"] == [str(tmp_path)]


def test_a_logdir_that_is_itself_a_run_is_called_a_dot(
    tmp_path: Path, record: Record
) -> None:
    record(tmp_path)

    with tensorboard(["--logdir", str(tmp_path), RELOAD]) as server:
        assert names_of_runs(server) == ["."]
        assert server.json("/data/plugin/health/run?run=.")["run"]["monitored"]


def test_a_tilde_stands_for_the_home_directory(tmp_path: Path, record: Record) -> None:
    record(tmp_path / "logs" / "run")

    with tensorboard(["--logdir=~/logs", RELOAD], env={"HOME": str(tmp_path)}) as tb:
        assert names_of_runs(tb) == ["run"]
