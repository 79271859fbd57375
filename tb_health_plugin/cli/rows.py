"""Many runs as data for programs: JSON, lines of JSON, CSV."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tb_health_plugin import __version__
from tb_health_plugin.cli.many_runs import Judged
from tb_health_plugin.cli.overview import lost_hours, overview

# Of a line per run, and of a line per cause.
COLUMNS = (
    "logdir",
    "run",
    "verdict",
    "detail",
    "severity",
    "confidence",
    "state",
    "step",
    "attempts",
    "started_at",
    "hours",
    "lost_hours",
    "program",
    "host",
    "dataset",
    "worker",
    "file",
    "line",
    "headline",
)
CAUSE_COLUMNS = ("by", "name", "cause", "runs", "lost_hours")


def json_text(judged: Sequence[Judged]) -> str:
    """All of it: the overview, and what is said of each run."""
    whole = {
        "tensorboard-plugin-health": __version__,
        "overview": overview(judged),
        "runs": [_said(one) for one in judged],
    }
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def json_lines(judged: Sequence[Judged]) -> str:
    """What is said of each run."""
    return _lines(map(_said, judged))


def csv_text(judged: Sequence[Judged]) -> str:
    """The most important of each run."""
    return _csv(COLUMNS, map(_row, judged))


def causes_json_lines(judged: Sequence[Judged]) -> str:
    """Causes with runs and hours lost, then what fails again."""
    return _lines(_causes(judged))


def causes_csv(judged: Sequence[Judged]) -> str:
    """The same as a table."""
    return _csv(CAUSE_COLUMNS, _causes(judged))


def _said(one: Judged) -> dict[str, Any]:
    return {
        "logdir": one.logdir,
        "program": one.program,
        "host": one.host,
        "dataset": one.dataset,
        "hours": round(one.hours, 4),
        "lost_hours": round(lost_hours(one), 4),
        **one.answer,
    }


def _row(one: Judged) -> dict[str, Any]:
    said = _said(one)
    verdict = one.answer["verdict"]
    place = verdict["place"]
    flat = {
        **said,
        **{name: verdict[name] for name in ("detail", "severity", "confidence")},
        **{name: place.get(name) for name in ("worker", "file", "line")},
        "verdict": verdict["id"],
        "headline": verdict["headline"],
    }
    return {name: flat[name] for name in COLUMNS}


def _causes(judged: Sequence[Judged]) -> Iterator[dict[str, Any]]:
    whole = overview(judged)
    for cause in whole["causes"]:
        yield {
            "by": "cause",
            "name": cause["id"],
            "cause": cause["id"],
            "runs": cause["runs"],
            "lost_hours": round(cause["lost_hours"], 4),
        }
    for again in whole["repeated"]:
        yield {
            "by": again["by"],
            "name": again["name"],
            "cause": again["id"],
            "runs": again["runs"],
            "lost_hours": round(again["lost_hours"], 4),
        }


def _lines(rows: Iterable[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _csv(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    file = io.StringIO()
    writer = csv.DictWriter(file, columns)
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()
