"""`make demo`: trains, crashes, and opens the Health tab on what was recorded."""

import argparse
import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
import webbrowser
from dataclasses import dataclass
from pathlib import Path

from demo.browser import browser
from demo.tensorboard_server import TensorBoardServer, tensorboard, wait_until

HERE = Path(__file__).parent
OUT = HERE / "out"
USUAL_PORT = 6006


@dataclass(frozen=True)
class Training:
    """One script of this folder, and what the tab must say about it."""

    script: str
    says: str
    state: str


TRAININGS = (
    Training("healthy", "a healthy training", "finished"),
    Training("killed_without_a_word", "one that is killed", "died"),
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m demo", description=__doc__)
    parser.add_argument("--headless", action="store_true", help="check, then exit")
    parser.add_argument("--out", type=Path, default=OUT, help="where to record")
    options = parser.parse_args()
    logs = options.out / "logs"
    for number, training in enumerate(TRAININGS, start=1):
        _record(training, logs, f"[{number}/{len(TRAININGS)}]")
    port = 0 if options.headless else _port()
    print("Starting TensorBoard ...", flush=True)
    with tensorboard(
        ["--logdir", str(logs), "--reload_interval=2"], port=port
    ) as server:
        _check(server)
        if options.headless:
            _take_pictures(server, options.out)
            return 0
        _show(server)
    return 0


def _record(training: Training, logs: Path, count: str) -> None:
    logdir = logs / training.script
    done = logdir / "recorded"
    if done.exists():
        print(f"{count} {training.says}: recorded earlier", flush=True)
        return
    shutil.rmtree(logdir, ignore_errors=True)
    print(f"{count} {training.says}: training ...", end="", flush=True)
    began = time.monotonic()
    script = HERE / f"{training.script}.py"
    log = subprocess.run(
        [sys.executable, str(script), str(logdir)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        env={**os.environ, "PYTHONPATH": str(HERE.parent)},
    )
    if not logdir.exists():
        raise SystemExit(f"\n{script} did not train:\n{log.stdout.decode()}")
    done.write_text("So that the next `make demo` need not train again.\n")
    print(f" {time.monotonic() - began:.0f} s", flush=True)


def _port() -> int:
    """TensorBoard's usual port if it is free, else any."""
    with contextlib.closing(socket.socket()) as probe:
        try:
            probe.bind(("localhost", USUAL_PORT))
        except OSError:
            return 0
    return USUAL_PORT


def _check(server: TensorBoardServer) -> None:
    """The tab must know every run, and say what became of it."""
    expected = {training.script: training.state for training in TRAININGS}

    def states() -> dict[str, str] | None:
        answer = server.json("/data/plugin/health/runs")
        found = {row["name"]: row["state"] for row in answer["runs"]}
        return found if expected.items() <= found.items() else None

    wait_until(states)


def _take_pictures(server: TensorBoardServer, out: Path) -> None:
    views = {
        "runs.png": f"{server.url}/#health",
        "run.png": f"{server.url}/#health&p.health.view=run"
        "&p.health.run=killed_without_a_word",
    }
    with browser() as chromium:
        for name, url in views.items():
            page = chromium.new_page(viewport={"width": 1280, "height": 900})
            page.goto(url)
            tab = page.frame_locator("iframe").first
            tab.locator("main h1").first.wait_for(state="attached")
            page.wait_for_load_state("networkidle")
            page.screenshot(path=str(out / name))
            page.close()
            print(f"Picture: {out / name}")


def _show(server: TensorBoardServer) -> None:
    url = f"{server.url}/#health"
    print(f"\n  Training Health: {url}\n\nCtrl-C ends it.", flush=True)
    if os.environ.get("DISPLAY") or sys.platform == "darwin":
        webbrowser.open(url)
    with contextlib.suppress(KeyboardInterrupt):
        server.process.wait()


if __name__ == "__main__":
    sys.exit(main())
