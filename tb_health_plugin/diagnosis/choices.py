"""What a run and its reader ask of the rules, taken together: the reader comes last."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tb_health_plugin.diagnosis.option import Option
from tb_health_plugin.diagnosis.rule import Rule
from tb_health_plugin.diagnosis.verdict import Silenced, Tuned
from tb_health_plugin.events import facts
from tb_health_plugin.events.rule_choices import OFF
from tb_health_plugin.reading.run_history import Attempt


@dataclass(frozen=True, slots=True)
class Choices:
    """Which rules say nothing, and which numbers count.

    Attributes:
        silenced: Rules that shall say nothing.
        tuned: Numbers that were set, for people.
        numbers: The same, for rules.
    """

    silenced: tuple[Silenced, ...] = ()
    tuned: tuple[Tuned, ...] = ()
    numbers: Mapping[Option, float] = field(default_factory=dict)

    @property
    def off(self) -> frozenset[str]:
        return frozenset(one.rule for one in self.silenced)


def choices(
    attempt: Attempt, rules: Sequence[Rule], reader: Mapping[str, str]
) -> Choices:
    """What counts for one attempt.

    Args:
        attempt: It may bring wishes of its own.
        rules: Those that can be asked. Wishes for others are passed over: another
            version may have had them.
        reader: In the form of `events/rule_choices.py`, checked.
    """
    told = attempt.last(facts.RulesChosen)
    wishes = [("run", told.rules if told else {}), ("reader", reader)]
    if not any(wish for _, wish in wishes):
        return Choices()
    known = {f"{rule.id}.{o.name}": o for rule in rules for o in rule.options}
    tuned = dict(_tuned(known, wishes))
    return Choices(
        silenced=tuple(_silenced([rule.id for rule in rules], wishes)),
        tuned=tuple(tuned.values()),
        numbers={known[name]: one.value for name, one in tuned.items()},
    )


def _silenced(
    ids: Sequence[str], wishes: Sequence[tuple[str, Mapping[str, str]]]
) -> Iterable[Silenced]:
    for id in ids:
        said = [(by, wish[id]) for by, wish in wishes if id in wish]
        if said and said[-1][1] == OFF:
            yield Silenced(rule=id, by=said[-1][0])


def _tuned(
    known: Mapping[str, Option], wishes: Sequence[tuple[str, Mapping[str, str]]]
) -> Iterable[tuple[str, Tuned]]:
    for by, wish in wishes:
        for name in wish:
            option = known.get(name)
            value = _number(wish[name])
            if option is not None and value is not None:
                default = option.default
                yield name, Tuned(name=name, value=value, default=default, by=by)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
