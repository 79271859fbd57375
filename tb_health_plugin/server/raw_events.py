"""`GET /events`: every fact of a run as it was recorded, for those who want to see."""

import dataclasses
import itertools
import json
from collections.abc import Mapping
from typing import Any

from tensorboard.backend import json_util

from tb_health_plugin.events import facts
from tb_health_plugin.server import payloads
from tb_health_plugin.server.answers import find_run
from tb_health_plugin.server.errors import RequestError
from tb_health_plugin.server.view import View

MOST_EVENTS = 1_000
# A fact may hold a traceback or a table; the page shows what can be read.
MOST_CHARACTERS = 4_000


def raw_events(view: View, name: str, limit: int) -> payloads.EventsPayload:
    """The newest facts of the last attempt, oldest first.

    Raises:
        NotFound: There is no such run.
        RequestError: The limit is out of its range.
    """
    if not 1 <= limit <= MOST_EVENTS:
        raise RequestError(
            f"limit={limit} is out of range: expected 1 to {MOST_EVENTS}."
        )
    attempt = find_run(view, name).run.history.latest
    every = sorted(
        attempt.everything() if attempt else (), key=lambda fact: fact.wall_time
    )
    return {
        "total": len(every),
        "events": [_event(fact) for fact in every[-limit:]],
    }


def _event(fact: facts.Fact) -> payloads.EventPayload:
    text = json.dumps(json_util.Cleanse(_said(fact)), ensure_ascii=False, default=str)
    cut = len(text) > MOST_CHARACTERS
    return {
        "kind": type(fact).__name__,
        "step": fact.step,
        "wall_time": fact.wall_time,
        "text": f"{text[:MOST_CHARACTERS]} …" if cut else text,
    }


def _said(value: Any) -> Any:
    """What a fact says, without what it leaves open."""
    if dataclasses.is_dataclass(value):
        named = ((f.name, getattr(value, f.name)) for f in dataclasses.fields(value))
        return {
            name: _said(part)
            for name, part in named
            if name not in ("wall_time", "step") and part not in (None, (), {}, "")
        }
    if isinstance(value, Mapping):
        return {name: _said(part) for name, part in value.items()}
    if isinstance(value, tuple):
        return [_said(part) for part in itertools.islice(value, MOST_EVENTS)]
    return value
