"""`make demo`: trains, crashes, and opens the Health tab on what was recorded."""

import argparse
import contextlib
import os
import socket
import sys
import webbrowser
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

from demo.browser import browser
from demo.recording import Recorded, record
from demo.tensorboard_server import TensorBoardServer, tensorboard, wait_until
from demo.trainings import CAUSES, Training, everything, shown

OUT = Path(__file__).parent / "out"
USUAL_PORT = 6006
AT_A_TIME = 2


def main() -> int:
    options = _parser().parse_args()
    console = Console(highlight=False)
    trainings = _chosen(options)
    recorded = _record_all(trainings, options.out, console)
    wrong = [one.training.name for one in recorded if not one.right]
    if wrong:
        console.print(Text(f"Not as expected: {', '.join(wrong)}", style="bold red"))
    port = 0 if options.headless else _port()
    console.print("\nStarting TensorBoard ...")
    logs = ["--logdir", str(options.out / "logs"), "--reload_interval=2"]
    with tensorboard(logs, port=port) as server:
        if options.headless:
            _check(server, recorded)
            _take_pictures(server, options.out, trainings[0].name)
        else:
            _show(server, options.out, trainings[0].name)
    return 1 if wrong else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m demo", description=__doc__)
    parser.add_argument("names", nargs="*", help="train only these scripts")
    parser.add_argument("--headless", action="store_true", help="check, then exit")
    parser.add_argument("--all", action="store_true", help="train every script")
    parser.add_argument("--out", type=Path, default=OUT, help="where to record")
    return parser


def _chosen(options: argparse.Namespace) -> list[Training]:
    if not options.names:
        return everything() if options.all else shown()
    known = {training.name: training for training in everything()}
    unknown = ", ".join(name for name in options.names if name not in known)
    if unknown:
        raise SystemExit(f"There is no {unknown} in {CAUSES}")
    return [known[name] for name in options.names]


def _record_all(
    trainings: Sequence[Training], out: Path, console: Console
) -> list[Recorded]:
    """Two at a time, with a line for each as it ends."""
    width = max(len(training.name) for training in trainings)
    recorded = []
    with (
        Progress(
            TextColumn("Training"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.description}"),
            console=console,
            transient=True,
        ) as progress,
        ThreadPoolExecutor(AT_A_TIME) as pool,
    ):
        names = [training.name for training in trainings]
        bar = progress.add_task(_next(names), total=len(trainings))
        started = [pool.submit(record, training, out) for training in trainings]
        try:
            for future in as_completed(started):
                one = future.result()
                recorded.append(one)
                names.remove(one.training.name)
                progress.update(bar, advance=1, description=_next(names))
                console.print(_line(one, width), soft_wrap=True)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return recorded


def _next(names: Sequence[str]) -> str:
    return ", ".join(names[:AT_A_TIME])


def _line(one: Recorded, width: int) -> Text:
    took = "recorded earlier" if one.seconds is None else f"{one.seconds:.0f} s"
    sign, style = ("ok", "green") if one.right else ("!!", "bold red")
    line = Text.assemble((sign, style), "  ", f"{one.training.name:{width}}  ")
    line.append(one.answer["verdict"]["headline"], "bold")
    line.append(f"  ({took})", "dim")
    return line


def _port() -> int:
    """TensorBoard's usual port if it is free, else any."""
    with contextlib.closing(socket.socket()) as probe:
        try:
            probe.bind(("localhost", USUAL_PORT))
        except OSError:
            return 0
    return USUAL_PORT


def _check(server: TensorBoardServer, recorded: Sequence[Recorded]) -> None:
    """The tab must know every run, and say the same of it."""
    expected = {one.training.name: one.answer["headline"] for one in recorded}

    def headlines() -> bool:
        answer = server.json("/data/plugin/health/runs")
        found = {row["name"]: row["headline"] for row in answer["runs"]}
        return bool(expected.items() <= found.items())

    wait_until(headlines)


def _take_pictures(server: TensorBoardServer, out: Path, run: str) -> None:
    views = {
        "runs.png": f"{server.url}/#health",
        "run.png": f"{server.url}/#health&p.health.view=run&p.health.run={run}",
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


def _show(server: TensorBoardServer, out: Path, run: str) -> None:
    url = f"{server.url}/#health"
    logs = os.path.relpath(out / "logs")
    print(
        f"\n  Training Health: {url}\n"
        f"\nThe same without a browser: .venv/bin/tb-health why {logs} --run {run}"
        "\n\nCtrl-C ends it.",
        flush=True,
    )
    if os.environ.get("DISPLAY") or sys.platform == "darwin":
        webbrowser.open(url)
    with contextlib.suppress(KeyboardInterrupt):
        server.process.wait()


if __name__ == "__main__":
    sys.exit(main())
