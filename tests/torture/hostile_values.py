"""Gives every rule numbers, times and amounts that no training should ever record."""

import dataclasses
import math
import random
from collections import Counter
from typing import Any

import numpy as np

from tb_health_plugin.diagnosis.rules import all_rules
from tb_health_plugin.events import facts
from tb_health_plugin.reading.run_history import Attempt
from tb_health_plugin.reading.table import TIME
from tests import runs
from tests.torture.chamber import Chamber
from tests.torture.damaged_files import told

PER_ROUND = 10
HOSTILE = (math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, 0.0, -1.0)
HOSTILE_INTEGERS = (0, -1, 1, 2**31, 2**63 - 1, -(2**63))
TEXTS = ("", "\x00", "\u202e", "<b>", "%s{0}{}", "a" * 70_000)


def torture(rng: random.Random, counts: Counter[str]) -> None:
    original = runs.attempt(rng.choice(runs.names()))
    for _ in range(PER_ROUND):
        share = rng.choice((0.02, 0.2, 1.0))
        changed = Attempt(original.id)
        changed.period_seconds = rng.choice((original.period_seconds, *HOSTILE))
        for fact in order(rng, list(original.everything())):
            if rng.random() < share:
                fact = spoilt(rng, fact)
                counts["facts spoilt"] += 1
            changed.add(fact)
        columns = samples(rng, original, share)
        counts["samples spoilt"] += len(next(iter(columns.values())))
        changed.samples.append(columns)
        told(changed)
        counts["runs judged"] += 1
        counts["rules asked"] += len(all_rules())


def order(rng: random.Random, told: list[facts.Fact]) -> list[facts.Fact]:
    """As they were, none, one, or backwards."""
    way = rng.randrange(8)
    if way == 0:
        return []
    if way == 1:
        return told[:1]
    return told[::-1] if way == 2 else list(told)


def samples(
    rng: random.Random, attempt: Attempt, share: float
) -> dict[str, np.ndarray]:
    table = attempt.samples
    way = rng.randrange(8)
    keep = {0: slice(0, 0), 1: slice(0, 1), 2: slice(None, None, -1)}.get(way)
    columns = {}
    for name in table.names:
        values = table.column(name)[keep if keep is not None else slice(None)].copy()
        # A time that is none never gets past the reader.
        hostile = (0.0, 1.0, 1e12) if name == TIME else HOSTILE
        if len(values) and rng.random() < share:
            at = rng.sample(range(len(values)), max(1, int(len(values) * share)))
            values[at] = [rng.choice(hostile) for _ in at]
        columns[name] = values
    return columns or {TIME: np.zeros(0)}


def spoilt(rng: random.Random, fact: Any) -> Any:
    """The same with one field that makes no sense."""
    fields = [f for f in dataclasses.fields(fact) if getattr(fact, f.name) is not None]
    field = rng.choice(fields)
    value = getattr(fact, field.name)
    if field.name == "wall_time":
        changed: Any = rng.choice((0.0, 1.0, 1e12))
    elif isinstance(value, tuple):
        changed = spoilt_tuple(rng, value)
    elif isinstance(value, dict):
        changed = {key: other(rng, item) for key, item in value.items()}
    else:
        changed = other(rng, value)
    return dataclasses.replace(fact, **{field.name: changed})


def spoilt_tuple(rng: random.Random, values: tuple[Any, ...]) -> tuple[Any, ...]:
    if not values or rng.random() < 0.2:
        return ()
    if rng.random() < 0.2:
        return values[:1]
    return tuple(
        spoilt(rng, one) if dataclasses.is_dataclass(one) else other(rng, one)
        for one in values
    )


def other(rng: random.Random, value: Any) -> Any:
    """Something hostile of the same kind, as the format would let it through."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return rng.choice(HOSTILE_INTEGERS)
    if isinstance(value, float):
        return rng.choice(HOSTILE)
    return rng.choice(TEXTS) if isinstance(value, str) else value


CHAMBER = Chamber(
    name="values",
    promise="no rule fails on any number, time or amount, and the answer is JSON",
    round=torture,
    share=2.0,
)
