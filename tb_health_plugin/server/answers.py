"""From the view to the JSON of `http_api.md`: typed functions without HTTP."""

import os

from tb_health_plugin.diagnosis.as_json import (
    VerdictPayload,
    not_measured,
    silenced,
    tuned,
    verdict_payload,
    workers_payload,
)
from tb_health_plugin.diagnosis.verdict import Story
from tb_health_plugin.events import facts
from tb_health_plugin.reading.downsample import downsample
from tb_health_plugin.reading.run_history import Attempt, RunHistory
from tb_health_plugin.server import payloads
from tb_health_plugin.server.errors import NotFound, RequestError
from tb_health_plugin.server.incidents import incidents
from tb_health_plugin.server.lanes import drawn_lanes
from tb_health_plugin.server.phases import phases
from tb_health_plugin.server.view import Partial, ToldRun, View

MOST_BUCKETS = 2_000
# More than a screen has columns for; of more epochs every n-th is told.
MOST_EPOCHS = 1_000


def run_list(view: View) -> payloads.RunList:
    """`GET /runs`."""
    told = view.runs()
    judged = sum(one.judged for one in told)
    library = view.library
    problems: list[payloads.ProblemPayload] = [
        {
            "run": one.run.name,
            "file": _shown_path(view, problem.file),
            "message": problem.message,
        }
        for one in told
        for problem in one.run.problems
    ]
    for root in library.roots:
        if root.problem:
            problems.append(
                {
                    "run": root.name or ".",
                    "file": root.shown,
                    "message": root.problem,
                }
            )
    return {
        "logdirs": [
            root.shown if root.remote else os.path.abspath(root.path)
            for root in library.roots
        ],
        "reading": {
            "complete": library.complete and judged == len(told),
            "runs_found": library.found,
            "runs_read": library.read,
            "runs_judged": judged,
            "problems": problems,
        },
        "runs": [one.row for one in told],
    }


def run_story(view: View, name: str) -> payloads.RunStory:
    """`GET /run`.

    Raises:
        NotFound: There is no such run.
    """
    told = find_run(view, name)
    attempt = told.run.history.latest
    story = told.story
    answer: payloads.RunStory = {
        "run": told.row,
        "verdict": None,
        "findings": [],
        "not_measured": [],
        "silenced": [],
        "tuned": [],
        "attempts": [],
        "workers": None,
        "epochs": [],
        "phases": [],
        "incidents": [],
        "lanes": [],
        "settings": {},
    }
    if attempt is None or story is None:
        if told.partial is not None:
            _add_partial_story(answer, told.partial)
        return answer
    answer["verdict"] = verdict_payload(story.verdict) if story.verdict else None
    answer["findings"] = _others(story)
    answer["not_measured"] = not_measured(attempt, story)
    answer["silenced"] = silenced(story)
    answer["tuned"] = tuned(story)
    answer["attempts"] = _attempts(told)
    answer["workers"] = workers_payload(told.start) if told.start else None
    answer["epochs"] = _epochs(attempt)
    answer["phases"] = phases(attempt)
    answer["incidents"] = incidents([attempt, *told.run.history.summaries])
    answer["lanes"] = _lanes(told.run.history)
    answer["settings"] = dict(sorted(_settings(attempt).items()))
    return answer


def _add_partial_story(answer: payloads.RunStory, partial: Partial) -> None:
    attempt, story = partial.history.latest, partial.story
    assert attempt is not None
    assert story.verdict is not None
    headline = answer["run"]["headline"]
    answer["verdict"] = {**verdict_payload(story.verdict), "headline": headline}
    answer["findings"] = _others(story)
    answer["not_measured"] = not_measured(attempt, story)
    answer["epochs"] = _epochs(attempt)
    # Steps of scalars may be epochs, so there is no throughput to tell.
    answer["lanes"] = [one for one in _lanes(partial.history) if one["id"] == "loss"]


def _others(story: Story) -> list[VerdictPayload]:
    """What was found beside the verdict."""
    return [verdict_payload(one) for one in story.findings if one is not story.verdict]


def lane_points(
    view: View,
    name: str,
    lane_id: str,
    *,
    axis: str,
    begin: float,
    end: float,
    buckets: int,
) -> payloads.LanePoints:
    """`GET /lane`.

    Raises:
        NotFound: There is no such run, or it has no data for this lane.
        RequestError: A parameter is out of its range.
    """
    if axis not in ("time", "step"):
        raise RequestError(f'axis="{axis}" is not known: expected "time" or "step".')
    if not 1 <= buckets <= MOST_BUCKETS:
        raise RequestError(
            f"buckets={buckets} is out of range: expected 1 to {MOST_BUCKETS}."
        )
    drawn = drawn_lanes(find_run(view, name).shown, lane_id).get(lane_id)
    if drawn is None:
        raise NotFound(f'Run "{name}" has no data for a lane called "{lane_id}".')
    points = downsample(
        drawn.table,
        drawn.columns,
        axis=axis,
        begin=begin,
        end=end,
        buckets=buckets,
        period_seconds=drawn.period_seconds,
    )
    return {
        "lane": lane_id,
        "samples": points.samples,
        "bucketed": points.bucketed,
        "time": points.time,
        "step": points.step,
        "series": [
            {"column": column, "mean": line.mean, "min": line.low, "max": line.high}
            for column, line in points.lines.items()
        ],
    }


def find_run(view: View, name: str) -> ToldRun:
    """One run.

    Raises:
        NotFound: There is no such run.
    """
    told = view.run(name)
    if told is None:
        raise NotFound(f'There is no run called "{name}".')
    return told


def _attempts(told: ToldRun) -> list[payloads.AttemptPayload]:
    found: list[payloads.AttemptPayload] = []
    for one in told.starts:
        attempt, story = one.attempt, one.story
        start = attempt.start
        found.append(
            {
                "id": attempt.id,
                "host": start.host if start else None,
                "pid": start.pid if start else None,
                "started_at": attempt.started_at,
                "last_seen_at": attempt.last_seen_at,
                "state": story.state,
                "first_step": 0,
                "last_step": attempt.last_step,
            }
        )
    return found


def _epochs(attempt: Attempt) -> list[payloads.EpochPayload]:
    # A loop without epochs tells its only one again and again: the last counts.
    found = {(e.training, e.epoch): e for e in attempt.all(facts.EpochEnded)}
    # Counted from the last, which is always told.
    apart = -(-len(found) // MOST_EPOCHS) or 1
    kept = list(found.values())[::-1][::apart]
    return [_epoch(epoch) for epoch in reversed(kept)]


def _epoch(epoch: facts.EpochEnded) -> payloads.EpochPayload:
    return {
        "epoch": None if epoch.epoch is None else epoch.epoch + 1,
        "first_step": epoch.first_step,
        "last_step": epoch.last_step,
        "planned_steps": epoch.planned_steps,
        "started_at": epoch.started_at,
        "ended_at": epoch.wall_time,
        "metrics": dict(epoch.metrics),
    }


def _lanes(history: RunHistory) -> list[payloads.LanePayload]:
    return [
        {
            "id": drawn.lane.id,
            "title": drawn.lane.title,
            "unit": drawn.lane.unit,
            "series": [
                {"column": column, "title": drawn.lane.series[column]}
                for column in drawn.columns
            ],
            "limits": [
                {"value": limit.value, "label": limit.label}
                for limit in drawn.lane.limits(drawn.table)
            ],
        }
        for drawn in drawn_lanes(history).values()
    ]


def _settings(attempt: Attempt) -> dict[str, str]:
    """What was set for the process, and for the training that came last."""
    parts = (attempt.start, attempt.last(facts.TrainingStarted))
    return {name: value for one in parts if one for name, value in one.settings.items()}


def _shown_path(view: View, path: "os.PathLike[str]") -> str:
    for root in view.library.roots:
        shown = os.path.relpath(path, root.path)
        if not shown.startswith(".."):
            return shown
    return os.fspath(path)
