"""Takes parts out of a recorded run, as a lost file or a switched-off source would."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from tb_health_plugin.events import facts
from tb_health_plugin.reading.run_history import Attempt
from tb_health_plugin.reading.table import TIME

# Left out when nobody watches from outside.
FROM_WATCHER = (
    facts.ProcessEnded,
    facts.Stalled,
    facts.StallEnded,
    facts.ChildEnded,
)
# What says where a fact belongs. No version ever wrote one without it.
_IDENTITY = {"wall_time", "step", "training", "epoch"}


def optional_fields(kind: type[facts.Fact]) -> list[str]:
    """The fields of a kind of fact that may be missing."""
    return [f.name for f in dataclasses.fields(kind) if f.name not in _IDENTITY]


def copied(
    source: Attempt,
    *,
    keeps: Callable[[facts.Fact], bool] = lambda fact: True,
    without_columns: frozenset[str] = frozenset(),
    rows: slice = slice(None),
) -> Attempt:
    """The same attempt with some of its facts, columns and rows."""
    result = Attempt(source.id)
    result.period_seconds = source.period_seconds
    for fact in source.everything():
        if keeps(fact):
            result.add(fact)
    columns = {
        name: np.array(source.samples.column(name)[rows])
        for name in source.samples.names
        if name == TIME or name not in without_columns
    }
    if len(source.samples):
        result.samples.append(columns)
    return result


def without_fields(source: Attempt, kind: type[facts.Fact], names: set[str]) -> Attempt:
    """The same, as a version that did not know these fields would have written it."""
    plain: dict[str, Any] = {}
    for field in dataclasses.fields(kind):
        if field.name in names:
            made = field.default_factory
            missing = made is dataclasses.MISSING
            plain[field.name] = field.default if missing else made()
    result = copied(source, keeps=lambda fact: not isinstance(fact, kind))
    for fact in source.all(kind):
        result.add(dataclasses.replace(fact, **plain))
    return result


def without_watcher(source: Attempt) -> Attempt:
    """The trainer's own words alone: no samples, nothing seen from outside."""
    result = copied(source, keeps=lambda fact: not isinstance(fact, FROM_WATCHER))
    result.samples = type(result.samples)()
    return result
