"""One HTML file that shows runs without a server: the tab itself, its answers inside.

The file needs no network and no TensorBoard. It is the built page of the tab; where
that asks a route, the file has the answer at hand.
"""

import base64
import hashlib
import html
import json
import os
import re
import time
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, TypedDict

from tensorboard.backend import json_util

from tb_health_plugin.comparing.alignment import ALIGNS
from tb_health_plugin.reading.library import Library
from tb_health_plugin.reading.log_directory import Root
from tb_health_plugin.server import (
    answers,
    comparison,
    payloads,
    raw_events,
    training_page,
    workers,
)
from tb_health_plugin.server.errors import RequestError
from tb_health_plugin.server.view import View

PAGE = Path(__file__).with_name("static") / "index.js"
MOST_RUNS = 8
# Raw facts in a report, the newest.
EVENTS = 200
# What somebody may not want to hand on.
OUTPUT, SETTINGS = "output", "settings"
PARTS = (OUTPUT, SETTINGS)
# The parameters that tell two answers of a route apart, as `report.ts` joins them.
_KEY_PARAMETERS = ("run", "lane", "a", "b", "align", "quantity")
_KEPT_OUT = "left out when this report was saved"


class Report(TypedDict):
    """What the page finds in its own file.

    Attributes:
        made_at: When it was saved, in seconds since the epoch.
        runs: The runs in it; several are shown side by side.
        answers: What the routes would say, by `_key`.
    """

    made_at: float
    runs: list[str]
    answers: dict[str, Any]


def report_html(
    logdir: "str | os.PathLike[str]",
    runs: Sequence[str],
    *,
    leave_out: Collection[str] = (),
) -> str:
    """A page on one run, or on several side by side, that opens from disk.

    Args:
        logdir: The directory that TensorBoard reads.
        runs: Names of one to eight runs. The first is the one in question.
        leave_out: Any of `PARTS`: texts that the program put out, or its settings.

    Raises:
        NotFound: There is no such run.
        RequestError: No run or too many, or a part that is not known.
    """
    view = View(Library([Root(Path(logdir).expanduser())]))
    view.refresh()
    return report_of(view, runs, leave_out=leave_out)


def report_of(
    view: View, runs: Sequence[str], *, leave_out: Collection[str] = ()
) -> str:
    """The same for a log directory that has been read."""
    names = list(dict.fromkeys(runs))
    if not 1 <= len(names) <= MOST_RUNS:
        raise RequestError(f"A report is about 1 to {MOST_RUNS} runs.")
    for part in leave_out:
        if part not in PARTS:
            expected = ", ".join(PARTS)
            raise RequestError(f'"{part[:100]}" is not known: expected {expected}.')
    report: Report = {
        "made_at": time.time(),
        "runs": names,
        "answers": dict(_answers(view, names, leave_out)),
    }
    return _page(" and ".join(names), report)


def file_name(runs: Sequence[str], made_at: float) -> str:
    """`health_<run>_<yyyymmdd-hhmm>.html`, with only plain characters."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "_", runs[0]).strip("_.")[:60]
    moment = time.strftime("%Y%m%d-%H%M", time.localtime(made_at))
    return f"health_{plain or 'run'}_{moment}.html"


def _answers(
    view: View, runs: Sequence[str], leave_out: Collection[str]
) -> Iterator[tuple[str, Any]]:
    told = [answers.find_run(view, name) for name in runs]
    yield (
        _key("runs"),
        {
            "logdirs": [],
            "reading": {
                "complete": True,
                "runs_found": len(told),
                "runs_read": len(told),
                "runs_judged": len(told),
                "problems": [],
            },
            "runs": [one.row for one in told],
        },
    )
    for name in runs:
        story = answers.run_story(view, name)
        _leave_out(story, leave_out)
        yield _key("run", run=name), story
        yield _key("training", run=name), training_page.training(view, name)
        for quantity in workers.QUANTITIES if story["workers"] else ():
            cells = workers.worker_cells(view, name, quantity)
            yield _key("workers", run=name, quantity=quantity), cells
        if not leave_out:
            newest = raw_events.raw_events(view, name, EVENTS)
            yield _key("events", run=name), newest
        for lane in story["lanes"]:
            id = lane["id"]
            yield _key("lane", run=name, lane=id), _lane(view, name, id)
    for letter, other in zip(comparison.LETTERS, runs[1:], strict=False):
        for align in ALIGNS:
            compared = comparison.compare_runs(view, runs[0], other, align, letter)
            if SETTINGS in leave_out:
                compared["settings"] = compared["same_settings"] = []
                compared["try_first"] = None
            yield _key("compare", a=runs[0], b=other, align=align), compared


def _leave_out(story: payloads.RunStory, parts: Collection[str]) -> None:
    if SETTINGS in parts:
        story["settings"] = {}
        for number, attempt in enumerate(story["attempts"], start=1):
            # The name of an attempt has the host's in it.
            attempt["id"] = str(number)
            attempt["host"] = attempt["pid"] = None
        for worker in story["workers"]["table"] if story["workers"] else ():
            worker["attempt"] = worker["host"] = worker["pid"] = None
    if OUTPUT in parts:
        for incident in story["incidents"]:
            if incident["text"] is not None:
                incident["text"] = f"({_KEPT_OUT})"


def _lane(view: View, run: str, lane: str) -> dict[str, Any]:
    """All of a lane, as fine as the routes allow; no number twice."""
    points = answers.lane_points(
        view,
        run,
        lane,
        axis="time",
        begin=float("-inf"),
        end=float("inf"),
        buckets=answers.MOST_BUCKETS,
    )
    if points["bucketed"]:
        return {**points}
    series = [
        {"column": one["column"], "mean": one["mean"]} for one in points["series"]
    ]
    return {**points, "series": series}


def _key(route: str, **parameters: str) -> str:
    return "\n".join([route, *(parameters.get(name, "") for name in _KEY_PARAMETERS)])


def _page(title: str, report: Report) -> str:
    # In a script, only these two could end it or change how it is read.
    code = PAGE.read_text("utf-8")
    code = code.replace("</script", r"<\/script").replace("<!--", r"<\!--")
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    return (
        "<!doctype html>\n"
        '<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Training Health: {html.escape(title)}</title></head>\n"
        "<body>\n<noscript>This report draws its charts with JavaScript.</noscript>\n"
        '<script type="application/json" id="training-health-report">'
        f"{_inert(report)}</script>\n"
        f'<script type="module">{code}</script>\n'
        "</body></html>\n"
    )


def _inert(value: Any) -> str:
    """JSON without a character that means something to HTML, in plain ASCII."""
    text = json.dumps(json_util.Cleanse(value), separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
