"""Rules on numbers bear any record, whatever is missing in it."""

import dataclasses
import math
import random
from collections.abc import Iterator

import pytest

from tb_health_plugin.diagnosis.rules import (
    bad_init,
    bad_input_values,
    dead_relu,
    exploding_gradients,
    lr_too_high,
    nan_op,
    no_gradient,
    vanishing_gradients,
    weights_not_updated,
)
from tb_health_plugin.diagnosis.verdict import Verdict
from tb_health_plugin.events import facts
from tests.diagnosis.rules import networks as net
from tests.diagnosis.rules.histories import ask, run_started

RULES = [
    module.RULE
    for module in (
        bad_init,
        bad_input_values,
        dead_relu,
        exploding_gradients,
        lr_too_high,
        nan_op,
        no_gradient,
        vanishing_gradients,
        weights_not_updated,
    )
]
WHOLE = (
    net.started(),
    net.batch(),
    net.batch(10, x={"nonfinite_count": 2, "bad_row": 1}),
    *net.looks(output_dead_fractions=(1, 1, 0), output_saturated_fractions=(1, 1, 1)),
    *net.epochs([0.5, math.nan, math.inf, 1.0]),
    facts.ProgramSaid(wall_time=1.0, message="Gradients do not exist for variables"),
)
BAD = (
    net.bad_number(44, began_in="input", fields=net.batch(44).fields),
    net.bad_number(44, began_in="layer", name="one", row=1),
    net.bad_number(0, began_in="weights"),
    net.bad_number(3, losses_before=(1.0, 5e3, 9e9), gradient_norms_before=(1, 9, 1e9)),
    net.bad_number(3, losses_before=(9e9, 1e19), gradient_norms_before=(1e9, 1e19)),
)
# What tells which training a fact belongs to stays: else it is in none.
KEPT = ("wall_time", "step", "training")


def damaged(fact: facts.Fact, chance: random.Random) -> facts.Fact:
    changes = {}
    for field in dataclasses.fields(fact):
        value = getattr(fact, field.name)
        if field.name in KEPT or chance.random() < 0.6:
            continue
        if isinstance(value, tuple):
            changes[field.name] = value[: chance.randrange(len(value) + 1)]
        elif isinstance(value, float):
            changes[field.name] = chance.choice([math.nan, math.inf, 0.0, -1.0])
        elif isinstance(value, dict):
            changes[field.name] = {}
        elif field.default is None:
            changes[field.name] = None
    return dataclasses.replace(fact, **changes)


def records() -> Iterator[list[facts.Fact]]:
    for seed in range(300):
        chance = random.Random(seed)
        told = [fact for fact in WHOLE if chance.random() < 0.85]
        told += chance.sample(BAD, chance.randrange(2))
        yield [damaged(fact, chance) for fact in told]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_it_answers_whatever_is_missing(rule):
    answers = [ask(rule, run_started(), *told) for told in records()]

    for verdict in answers:
        if isinstance(verdict, Verdict):
            assert len(verdict.headline) <= 100, verdict.headline
            assert len(verdict.chip.split()) <= 3
            assert verdict.evidence
            assert verdict.fixes
