"""`make screenshots`: every view, light and dark, from a phone to a large screen.

The runs are the recorded ones of `tests/runs`, those of the demo if it has run, and two
that are alive while the pictures are taken.
"""

import argparse
import contextlib
import itertools
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from demo.browser import browser
from demo.tensorboard_server import TensorBoardServer, tensorboard, wait_until
from tests.plain_events import write_scalars

HERE = Path(__file__).parent
OUT = HERE / "out" / "screenshots"
RECORDED = HERE.parent / "tests" / "runs"
WORKERS = HERE.parent / "tests" / "workers" / "recorded"

WIDTHS = (390, 1280, 1920)
THEMES = ("light", "dark")
HEIGHT = 900
# A longer page is cut here: nobody looks at more of a picture.
MOST_HEIGHT = 3_600
STUCK = "live/stuck"
RUNNING = "live/running"
PLAIN = "plain"
START = "start"


# The few that the README shows: small enough to load at once.
README = HERE.parent / "docs" / "img"
README_SIZE = {"width": 1280, "height": 1000}


def place(view: str, **keys: str) -> str:
    """The part of TensorBoard's address that belongs to the tab."""
    pairs = {"view": view, **keys}
    return "".join(
        f"&p.health.{key}={quote(value, safe='')}" for key, value in pairs.items()
    )


VIEWS = {
    "runs": "",
    "runs_failed": "&p.health.f=failed",
    "run_out_of_memory": place("run", run="host_oom"),
    "run_gradients": place("run", run="vanishing_gradients"),
    "run_nan": place("run", run="nan_op-2"),
    "run_hang": place("run", run="input_hang"),
    "run_slow_data": place("run", run="input_bound-2"),
    "run_error": place("run", run="callback_error-2"),
    "run_gpu": place("run", run="gpu_oom"),
    "run_healthy": place("run", run="healthy-5"),
    "run_workers": place("run", run="workers/killed"),
    "run_unmonitored": place("run", run=PLAIN),
    "run_live": place("run", run=RUNNING),
    "run_stuck": place("run", run=STUCK),
    "compare": place("compare", a="vanishing_gradients"),
    "compare_four": place(
        "compare", a="lr_too_high", b="healthy-12", b2="overfitting", b3="healthy-5"
    ),
    "compare_difference": place(
        "compare", a="lr_too_high", b="healthy-12", draw="difference"
    ),
    # On a log directory of its own, without a run.
    START: "",
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m demo.screenshots")
    parser.add_argument("--out", type=Path, default=OUT, help="where to put them")
    parser.add_argument("--views", nargs="+", default=list(VIEWS), choices=list(VIEWS))
    parser.add_argument("--widths", nargs="+", type=int, default=WIDTHS)
    parser.add_argument("--themes", nargs="+", default=THEMES, choices=THEMES)
    parser.add_argument(
        "--readme", action="store_true", help="take only the few of the README, anew"
    )
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        logs = gather(Path(folder))
        if any("live" in VIEWS[view] or not VIEWS[view] for view in options.views):
            stack.enter_context(alive(logs))
        server = stack.enter_context(tensorboard(["--logdir", str(logs)]))
        wait_for_runs(server, logs)
        views = {server.url: [view for view in options.views if view != START]}
        if START in options.views:
            empty = stack.enter_context(tempfile.TemporaryDirectory())
            bare = stack.enter_context(tensorboard(["--logdir", empty]))
            views[bare.url] = [START]
        chromium = stack.enter_context(browser())
        if options.readme:
            take_for_readme(chromium, server.url)
            return 0
        looks = itertools.product(views, options.themes, options.widths)
        for url, theme, width in looks:
            with opened(chromium, url, theme, width) as page:
                for view in views[url]:
                    path = options.out / f"{view}_{theme}_{width}.png"
                    take(page, f"{url}/#health{VIEWS[view]}", path)
    return 0


def take_for_readme(chromium: Any, url: str) -> None:
    README.mkdir(exist_ok=True)
    for view in ("runs", "run_hang", "compare"):
        with opened(chromium, url, "light", README_SIZE["width"]) as page:
            page.set_viewport_size(README_SIZE)
            page.goto(f"{url}/#health{VIEWS[view]}")
            page.wait_for_timeout(300)
            page.wait_for_load_state("networkidle")
            page.screenshot(path=README / f"{view}.png")


def gather(folder: Path) -> Path:
    """A log directory with all recorded runs, as somebody's would be."""
    for source, below in (
        (RECORDED, ""),
        (HERE / "out" / "logs", ""),
        (WORKERS, "workers"),
    ):
        for run in sorted(source.glob("*/plugins")):
            shutil.copytree(run, folder / below / run.parent.name / run.name)
    loss = [2.3 * 0.97**step + 0.01 * (step % 7) for step in range(200)]
    write_scalars(folder / PLAIN, {"loss": loss})
    return folder


@contextlib.contextmanager
def alive(logs: Path) -> Iterator[None]:
    """Two loops that go on while pictures are taken; one of them hangs soon."""
    with contextlib.ExitStack() as stack:
        for name, arguments in (
            (RUNNING, ()),
            (STUCK, ("--stuck-at-step", "300")),
        ):
            command = [sys.executable, "-m", "demo.live_loop", str(logs / name)]
            process = subprocess.Popen([*command, *arguments], cwd=HERE.parent)
            stack.callback(process.wait)
            stack.callback(process.kill)
        yield


def wait_for_runs(server: TensorBoardServer, logs: Path) -> None:
    expected = {run.parent.name for run in logs.glob("*/plugins")}
    live = (logs / STUCK).exists()

    def ready() -> bool:
        answer = server.json("/data/plugin/health/runs")
        states = {row["name"]: row["state"] for row in answer["runs"]}
        return expected <= set(states) and (not live or states[STUCK] == "stuck")

    wait_until(ready, seconds=180)


@contextlib.contextmanager
def opened(chromium: Any, url: str, theme: str, width: int) -> Iterator[Any]:
    """TensorBoard in a window of that width and with that look."""
    page = chromium.new_page(viewport={"width": width, "height": HEIGHT})
    try:
        page.goto(f"{url}/#health")
        tab = page.frame_locator("iframe").first
        tab.locator("main :is(h1, h2)").first.wait_for(state="attached", timeout=60_000)
        if theme == "dark":
            page.locator("body").evaluate("body => body.classList.add('dark-mode')")
            tab.locator(":root[data-theme=dark]").wait_for()
        yield page
    finally:
        page.close()


def take(page: Any, url: str, path: Path) -> None:
    """One picture of the whole view, as high as it is."""
    width = page.viewport_size["width"]
    page.set_viewport_size({"width": width, "height": HEIGHT})
    page.goto(url)
    page.wait_for_timeout(300)
    page.wait_for_load_state("networkidle")
    tab = page.frame_locator("iframe").first
    tab.locator("main :is(h1, h2)").first.wait_for(state="attached", timeout=60_000)
    inside = tab.locator("main").evaluate("main => main.scrollHeight")
    frame = page.locator("iframe").first.bounding_box()
    height = max(HEIGHT, min(MOST_HEIGHT, int(frame["y"]) + inside))
    page.set_viewport_size({"width": width, "height": height})
    page.wait_for_timeout(300)
    page.screenshot(path=path)
    print(path, flush=True)


if __name__ == "__main__":
    sys.exit(main())
