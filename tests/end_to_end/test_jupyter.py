"""Cells in a real Jupyter kernel: mistakes, interrupts, restarts, what they show."""

import contextlib
import functools
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from demo.tensorboard_server import wait_until
from tb_health_plugin import diagnose
from tb_health_plugin.diagnosis.as_json import Answer
from tests.docs.pages import ROOT, blocks
from tests.end_to_end.jupyter_kernel import Kernel, kernel

pytestmark = pytest.mark.live

MAKE = """
import keras, numpy as np, time
from tb_health_plugin import HealthCallback
x = np.random.default_rng(0).normal(size=(256, 4)).astype("float32")
y = x[:, :1]
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile("adam", "mse")
health = HealthCallback("logs/run")

class At(keras.callbacks.Callback):
    error = None
    pause = 0.0
    def on_epoch_end(self, epoch, logs=None):
        time.sleep(self.pause)
        if epoch == 2 and self.error:
            raise self.error
at = At()
"""
FIT = "model.fit(x, y, epochs={epochs}, verbose=0, callbacks=[at, health]);"
SHORT, ENDLESS = FIT.format(epochs=5), FIT.format(epochs=1_000_000)


@dataclass
class Session:
    """What was said after each cell, and what cells showed."""

    logs: Path
    said: dict[str, Answer] = field(default_factory=dict)
    shown: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def note(self, name: str, shown: list[dict[str, Any]]) -> None:
        """Keeps them once the end of the cell is written."""
        self.shown[name] = shown
        self.said[name] = wait_until(lambda: ended(self.logs), seconds=60)


def ended(logs: Path) -> Answer | None:
    answer = diagnose(logs / "run", ".")
    return answer if answer["state"] != "running" else None


def trains(logs: Path, attempts: int) -> bool:
    with contextlib.suppress(OSError, LookupError):
        answer = diagnose(logs / "run", ".")
        at = answer["attempts"], answer["state"]
        return at == (attempts, "running") and (answer["step"] or 0) > 500
    return False


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """An evening in a notebook: mistakes, interrupts, restarts, and the tab."""
    folder = tmp_path_factory.mktemp("notebook")
    (folder / "pip").write_text('#!/bin/sh\nprintf "%s " "$@" > installed\n')
    (folder / "pip").chmod(0o755)
    environment = {
        "PYTHONPATH": str(ROOT),
        "PATH": f"{folder}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        # TensorBoards of other users of this machine are not ours to show.
        "TMPDIR": str(folder),
    }
    made = Session(folder / "logs")
    with kernel(folder, environment) as running:
        try:
            _work(running, made)
            yield made
        finally:
            stop_tensorboards(folder)


def _work(running: Kernel, made: Session) -> None:
    (recipe,) = blocks("ipython")
    running.run(recipe.code)
    running.run(MAKE)
    made.note("raised", running.run(f"at.error = ValueError('mistyped'); {SHORT}"))
    cell = running.start(f"at.error = None; {ENDLESS}")
    wait_until(lambda: trains(made.logs, 1), seconds=200)
    running.interrupt()
    made.note("interrupted", running.finish(cell))
    made.note("run again", running.run(SHORT))
    made.note("all again", running.run(f"{MAKE}\n{SHORT}"))
    running.start(ENDLESS)
    wait_until(lambda: trains(made.logs, 1), seconds=200)
    running.restart()
    made.note("restarted", [])
    made.note("after the restart", running.run(f"{MAKE}\n{SHORT}"))
    # The restart took TensorBoard with it.
    made.shown["tab"] = running.run(recipe.code)
    made.shown["summary"] = running.run("health.summary()")


def stop_tensorboards(folder: Path) -> None:
    """`%tensorboard` leaves its server running, as its information file says."""
    for info in folder.glob(".tensorboard-info/pid-*.info"):
        with contextlib.suppress(ProcessLookupError):
            os.kill(json.loads(info.read_text())["pid"], signal.SIGKILL)


def test_cells_that_fail_are_interrupted_or_run_again_make_one_run(session: Session):
    said = session.said

    assert {name: (one["state"], one["attempts"]) for name, one in said.items()} == {
        "raised": ("failed", 1),
        "interrupted": ("ended_early", 1),
        "run again": ("finished", 1),
        "all again": ("finished", 1),
        "restarted": ("died", 1),
        "after the restart": ("finished", 2),
    }
    assert "ValueError" in said["raised"]["verdict"]["headline"]
    assert said["interrupted"]["verdict"]["id"] == "user_interrupt"
    assert said["restarted"]["verdict"]["id"] == "killed_outside"


def test_a_traceback_in_a_cell_is_the_programs_own(session: Session):
    (error,) = [one for one in session.shown["raised"] if one["type"] == "error"]

    assert error["ename"] == "ValueError"
    assert error["evalue"] == "mistyped"


def test_the_recipe_installs_what_we_are_called(session: Session):
    assert (session.logs.parent / "installed").read_text() == (
        "install -q tensorboard-plugin-health "
    )


def test_a_summary_is_shown_once_by_whatever_shows_the_notebook(session: Session):
    kinds = [one["type"] for one in session.shown["summary"]]
    assert kinds == ["status", "execute_input", "execute_result"]
    shown = session.shown["summary"][-1]
    assert shown["type"] == "execute_result"
    assert {"text/html", "text/markdown", "text/plain"} <= shown["data"].keys()
    assert "Finished as planned" in shown["data"]["text/html"]
    assert [one for one in session.shown["summary"] if one["type"] == "stream"] == []


@pytest.mark.browser
def test_the_tab_is_shown_in_the_cell(
    session: Session, open_page: Callable[[str], Any], tmp_path: Path
):
    pages = [
        one["data"].get("text/html", "")
        for one in session.shown["tab"]
        if "data" in one
    ]
    (cell,) = [page for page in pages if "<iframe" in page]
    (tmp_path / "index.html").write_text(f"<!doctype html><title>Cell</title>{cell}")

    with served(tmp_path) as notebook:
        tensorboard = open_page(notebook).locator("iframe").content_frame
        tensorboard.get_by_role("tab", name="Training Health").click()
        health = tensorboard.frame_locator("iframe").first
        row = health.get_by_role("row").filter(has_text="run")
        row.get_by_text("Finished", exact=True).wait_for()


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """What serves notebooks: another port of the host that TensorBoard runs on."""
    handler = functools.partial(SimpleHTTPRequestHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
