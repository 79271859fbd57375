"""`GET /compare`: two runs side by side, in the JSON of `http_api.md`."""

import dataclasses
from collections.abc import Iterator

from tb_health_plugin.comparing import words
from tb_health_plugin.comparing.alignment import ALIGNS, Align, Clock
from tb_health_plugin.comparing.comparison import Compared, Comparison, Place, compare
from tb_health_plugin.comparing.divergence import RULE
from tb_health_plugin.comparing.settings import (
    Difference,
    differences,
    settings_of,
    try_first,
)
from tb_health_plugin.comparing.twin import Twin, pick_twin
from tb_health_plugin.reading.run_history import RunHistory
from tb_health_plugin.server import payloads
from tb_health_plugin.server.answers import find_run
from tb_health_plugin.server.errors import RequestError
from tb_health_plugin.server.lanes import DrawnLane, drawn_lanes
from tb_health_plugin.server.view import ToldRun, View

_NO_TWIN = "There is no healthy run to compare with yet."
_NO_TWIN_BECAUSE = (
    "A run is compared with one of the same program that finished without a finding. "
    "Choose any other run by hand."
)


LETTERS = "bcdefgh"


def compare_runs(
    view: View, a: str, b: str | None, align: str, letter: str = "b"
) -> payloads.ComparisonPayload:
    """`GET /compare`.

    Args:
        view: What is shown.
        a: The run under question.
        b: The other; None: a healthy twin.
        align: One of `ALIGNS`.
        letter: What sentences call the other.

    Raises:
        NotFound: There is no such run.
        RequestError: A parameter is not understood.
    """
    known = next((one for one in ALIGNS if one == align), None)
    if known is None:
        expected = ", ".join(f'"{one}"' for one in ALIGNS)
        raise RequestError(f'align="{align[:100]}" is not known: expected {expected}.')
    if letter not in LETTERS or len(letter) != 1:
        raise RequestError(f'letter="{letter[:100]}" is none of {", ".join(LETTERS)}.')
    of_a = find_run(view, a)
    twin = None if b else pick_twin(of_a.run.history, _healthy(view))
    other = b or (twin.history.run if twin else None)
    if other is None:
        return _alone(of_a, known, _NO_TWIN, _NO_TWIN_BECAUSE)
    of_b = find_run(view, other)
    for told in (of_a, of_b):
        if told.run.history.latest is None:
            why = f'No health data was recorded for "{told.run.name}".'
            return _alone(of_a, known, "There is nothing to compare.", why, of_b)
    return _compared(of_a, of_b, known, twin, letter.upper())


def _healthy(view: View) -> Iterator[RunHistory]:
    for told in view.runs():
        story = told.story
        if story is None or story.state != "finished" or story.severity != "info":
            continue
        if all(finding.severity == "info" for finding in story.findings):
            yield told.run.history


def _alone(
    told: ToldRun,
    align: Align,
    headline: str,
    summary: str,
    other: ToldRun | None = None,
) -> payloads.ComparisonPayload:
    """The calm answer where nothing can be compared."""
    return {
        "a": told.row,
        "b": other.row if other else None,
        "picked": None,
        "align": align,
        "headline": headline,
        "summary": summary,
        "note": None,
        "rule": RULE,
        "first": None,
        "signals": [],
        "settings": [],
        "same_settings": [],
        "try_first": None,
        "lanes": [],
        "clocks": None,
    }


def _compared(
    a: ToldRun, b: ToldRun, align: Align, twin: Twin | None, letter: str
) -> payloads.ComparisonPayload:
    of_a, of_b = a.run.history, b.run.history
    assert of_a.latest is not None
    assert of_b.latest is not None
    found = compare(of_a, of_b, align, _explaining_lanes(a))
    found = dataclasses.replace(found, other=letter)
    set_a, set_b = settings_of(of_a.latest), settings_of(of_b.latest)
    differ = differences(set_a, set_b)
    told = words.tell(
        found,
        settings_differ=bool(differ),
        to_explain=a.story is not None and a.story.severity != "info",
    )
    first, suggestion = found.main, try_first(found.main, differ)
    return {
        "a": a.row,
        "b": b.row,
        "picked": twin.why if twin else None,
        "align": found.align,
        "headline": told.headline,
        "summary": told.summary,
        "note": told.note,
        "rule": RULE,
        "first": first.signal.id if first else None,
        "signals": [_signal(one, found) for one in found.compared],
        "settings": [_setting(one) for one in differ],
        "same_settings": [
            {"name": name, "a": value, "b": value}
            for name, value in set_a.items()
            if set_b.get(name) == value
        ],
        "try_first": (
            {"setting": suggestion.setting, "why": suggestion.why}
            if suggestion
            else None
        ),
        "lanes": _lanes(found, of_a, of_b),
        "clocks": {"a": _clock(found.a), "b": _clock(found.b)},
    }


def _explaining_lanes(told: ToldRun) -> set[str]:
    """The lanes that carry the verdict on a run."""
    verdict = told.story.verdict if told.story else None
    if verdict is None:
        return set()
    return {one.lane for one in verdict.evidence if one.strong and one.lane}


def _signal(one: Compared, comparison: Comparison) -> payloads.SignalPayload:
    a, b = words.cells(one, comparison)
    return {
        "id": one.signal.id,
        "title": one.signal.title,
        "unit": one.signal.unit,
        "lane": one.signal.lane,
        "column": one.signal.column,
        "kind": one.kind,
        "what": words.what(one, comparison),
        "a": a,
        "b": b,
        "from": words.begins(one, comparison),
        "a_value": one.a,
        "b_value": one.b,
        "strength": one.strength,
        "from_start": one.from_start,
        "begins": _place(one.begins),
        "ends": _place(one.ends),
    }


def _place(place: Place | None) -> payloads.PlacePayload | None:
    if place is None:
        return None
    return {"x": place.x, "step": place.step, "wall_time": place.wall_time}


def _setting(one: Difference) -> payloads.SettingPayload:
    return {"name": one.name, "a": one.a, "b": one.b}


def _lanes(
    comparison: Comparison, a: RunHistory, b: RunHistory
) -> list[payloads.ComparedLanePayload]:
    """A lane for each signal that at least one run has, in the order of the list."""
    drawn = drawn_lanes(a), drawn_lanes(b)
    found: list[payloads.ComparedLanePayload] = []
    for one in comparison.compared:
        signal = one.signal
        has = [signal.column in _columns(lanes.get(signal.lane)) for lanes in drawn]
        if not any(has):
            continue
        of_a = drawn[0].get(signal.lane)
        limits = of_a.lane.limits(of_a.table) if of_a else []
        found.append(
            {
                "id": signal.id,
                "title": signal.title,
                "unit": signal.unit,
                "lane": signal.lane,
                "column": signal.column,
                "in_a": has[0],
                "in_b": has[1],
                "limits": [{"value": at.value, "label": at.label} for at in limits],
            }
        )
    return found


def _columns(drawn: DrawnLane | None) -> list[str]:
    return drawn.columns if drawn else []


def _clock(clock: Clock) -> payloads.ClockPayload:
    return {
        "started_at": clock.started_at,
        "ended_at": clock.ended_at,
        "last_step": clock.last_step,
        "epoch_steps": list(clock.epoch_steps),
        "epochs": list(clock.epochs),
    }
