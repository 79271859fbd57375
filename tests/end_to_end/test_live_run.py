"""A run is watched while it dies: the page says so by itself."""

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from demo.tensorboard_server import wait_until
from tests.end_to_end.light_tensorboard import tensorboard

pytestmark = [pytest.mark.live, pytest.mark.browser]

ROOT = Path(__file__).parents[2]


def test_a_live_run_is_seen_to_die(
    tmp_path: Path, open_page: Callable[[str], Any], loader: tuple[str, ...]
) -> None:
    command = [sys.executable, "-m", "demo.live_loop", str(tmp_path / "loop")]
    process = subprocess.Popen(command, cwd=ROOT)
    try:
        arguments = ["--logdir", str(tmp_path), "--reload_interval=1", *loader]
        with tensorboard(arguments) as running:
            wait_until(lambda: running.json("/data/plugin/health/runs")["runs"])
            page = open_page(
                f"{running.url}/#health&p.health.view=run&p.health.run=loop"
            )
            inside = page.health
            inside.get_by_text("Live. Last sign of life").wait_for()

            # Zoomed to an earlier part, the page stays there and says what is new.
            lanes = inside.locator(".lanes")
            inside.get_by_role("img", name="Host memory: lowest").wait_for()
            lanes.press("+")
            lanes.press(",")
            inside.get_by_role("button", name="new second").click()
            inside.get_by_role("button", name="new second").wait_for(state="detached")

            process.send_signal(signal.SIGKILL)

            inside.get_by_role("heading", name="SIGKILL").wait_for()
            inside.get_by_role("button", name="Stopped").wait_for()
            assert page.complaints == []
    finally:
        process.kill()
        process.wait()
