"""How fast is the tab with 1,000 runs, one of them a day long?

Beside it stands TensorBoard's own Time Series on the same number of points.
"""

import contextlib
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bench import many_runs
from bench.measuring import Result
from demo.browser import browser
from demo.tensorboard_server import TensorBoardServer, tensorboard, wait_until
from tests.end_to_end.light_tensorboard import tensorboard as light_tensorboard

# TensorBoard would keep only 1,000 points of each series.
FLAGS = ("--samples_per_plugin=scalars=0", "--reload_interval=5")
FRAME_SECONDS = 3.0
RUNS = "/data/plugin/health/runs"
OPEN_BIG = f"#health&p.health.view=run&p.health.run={many_runs.BIG_RUN}"
# Counts frames while the page zooms in and out and moves along, as keys would do it.
FRAMES = """async (lanes, seconds) => {
  const keys = ["+", "+", "+", ".", ".", ",", ",", "-", "-", "-"];
  let frames = 0, at = 0;
  const until = performance.now() + seconds * 1000;
  while (performance.now() < until) {
    lanes.dispatchEvent(new KeyboardEvent("keydown", {key: keys[at++ % keys.length]}));
    await new Promise(requestAnimationFrame);
    frames += 1;
  }
  return frames / seconds;
}"""


def ask(rounds: int) -> list[Result]:
    with tempfile.TemporaryDirectory() as folder:
        logs = Path(folder)
        many_runs.write(logs)
        with browser() as chromium:
            numbers = _measured(logs, chromium, max(1, rounds // 3))
    question = (
        f"The tab with {many_runs.RUNS:,} runs, one of {many_runs.BIG_SAMPLES:,} "
        f"samples and {many_runs.BIG_STEPS:,} steps"
    )
    return [Result(question, "", numbers, {})]


def _measured(logs: Path, chromium: Any, rounds: int) -> dict[str, float]:
    arguments = ["--logdir", str(logs), *FLAGS]
    numbers: dict[str, float] = {}
    with tensorboard(arguments) as server:
        # Cold: asked for at the moment it answers at all.
        began = time.perf_counter()
        numbers["list, cold server (s)"] = _seconds(chromium, server, _all_rows)
        _wait_for(server, many_runs.RUNS)
        judged = time.perf_counter() - began
        numbers["every run judged, cold server (s)"] = judged
        numbers["list, warm server (s)"] = _best(
            rounds, lambda: _seconds(chromium, server, _all_rows)
        )
        numbers["opening the day-long run (s)"] = _best(
            rounds, lambda: _opening(chromium, server)
        )
        numbers["frames a second while zooming and moving"] = _frames(chromium, server)
        numbers["memory of the server (MiB)"] = _memory(server)
        numbers["TensorBoard's Time Series, same runs, first chart (s)"] = _best(
            rounds, lambda: _time_series(chromium, server, "")
        )
        numbers["TensorBoard's Time Series, the day-long run (s)"] = _best(
            rounds,
            lambda: _time_series(chromium, server, f"?runFilter={many_runs.BIG_RUN}"),
        )
    numbers |= _memories(logs)
    return numbers


def _memories(logs: Path) -> dict[str, float]:
    """Where TensorFlow is installed, TensorBoard imports it: that is most of it."""
    found = {}
    with tempfile.TemporaryDirectory() as empty:
        for what, start, folder, runs in (
            ("without a run", tensorboard, empty, 0),
            ("without TensorFlow, without a run", light_tensorboard, empty, 0),
            ("without TensorFlow", light_tensorboard, str(logs), many_runs.RUNS),
        ):
            with start(["--logdir", folder, *FLAGS]) as server:
                _wait_for(server, runs)
                found[f"memory of the server {what} (MiB)"] = _memory(server)
    return found


def _best(rounds: int, measure: Callable[[], float]) -> float:
    """The least disturbed of several."""
    return min(measure() for _ in range(rounds))


def _wait_for(server: TensorBoardServer, runs: int) -> None:
    """Until so many runs are read and judged."""

    def is_complete() -> bool:
        answer = server.json(RUNS)
        return bool(answer["reading"]["complete"] and len(answer["runs"]) == runs)

    wait_until(is_complete, seconds=300)


@contextlib.contextmanager
def _page(chromium: Any) -> Iterator[Any]:
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(300_000)
    try:
        yield context.new_page()
    finally:
        context.close()


def _seconds(
    chromium: Any, server: TensorBoardServer, ready: Callable[[Any], None]
) -> float:
    """From the moment the tab's frame is there until it can be used."""
    with _page(chromium) as page:
        page.goto(f"{server.url}/#health")
        page.locator("iframe").first.wait_for()
        began = time.perf_counter()
        ready(page.frame_locator("iframe").first)
        return time.perf_counter() - began


def _all_rows(tab: Any) -> None:
    tab.get_by_role("button", name=f"All {many_runs.RUNS:,}").wait_for()
    tab.locator("table.runs tbody tr[aria-rowindex]").first.wait_for()


def _opening(chromium: Any, server: TensorBoardServer) -> float:
    """From the click on its row until its last lane is drawn."""
    with _page(chromium) as page:
        page.goto(f"{server.url}/#health&p.health.q={many_runs.BIG_RUN}")
        tab = page.frame_locator("iframe").first
        link = tab.get_by_role("link", name=many_runs.BIG_RUN)
        link.wait_for()
        began = time.perf_counter()
        link.click()
        _drawn(tab)
        return time.perf_counter() - began


def _drawn(tab: Any) -> None:
    tab.get_by_role("img", name="Host memory: lowest").wait_for()
    tab.get_by_role("img", name="Loss: lowest").wait_for()


def _frames(chromium: Any, server: TensorBoardServer) -> float:
    with _page(chromium) as page:
        page.goto(f"{server.url}/{OPEN_BIG}")
        tab = page.frame_locator("iframe").first
        _drawn(tab)
        lanes = tab.locator(".lanes")
        return float(lanes.evaluate(FRAMES, FRAME_SECONDS))


def _memory(server: TensorBoardServer) -> float:
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    resident = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return float(resident.split()[1]) / 1024


def _time_series(chromium: Any, server: TensorBoardServer, query: str) -> float:
    """From the moment its page is there until its first chart has a line."""
    with _page(chromium) as page:
        page.goto(f"{server.url}/{query}#timeseries")
        began = time.perf_counter()
        page.locator("scalar-card canvas, scalar-card svg").first.wait_for()
        return time.perf_counter() - began
