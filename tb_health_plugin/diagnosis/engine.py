"""Judges a run: how it ended, what was wrong with it, and which of it is the root."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from tb_health_plugin.diagnosis import story
from tb_health_plugin.diagnosis.case import Case
from tb_health_plugin.diagnosis.choices import choices
from tb_health_plugin.diagnosis.pace import Team
from tb_health_plugin.diagnosis.rule import Rule
from tb_health_plugin.diagnosis.rules import all_rules
from tb_health_plugin.diagnosis.silenced import lost_loss
from tb_health_plugin.diagnosis.verdict import NotMeasured, Story, Verdict
from tb_health_plugin.reading.digest import bounded
from tb_health_plugin.reading.liveness import Life
from tb_health_plugin.reading.run_history import Attempt

# Rises whenever the same record may be judged differently than before.
ENGINE_VERSION = 1

_SEVERITIES = ("critical", "warning", "info")
_CONFIDENCES = ("proven", "likely", "possible")

# A chain of causes longer than this is a circle.
_LONGEST_CHAIN = 8
# A training that is slow gives what was wanted all the same: what makes it useless
# comes before these.
_ONLY_SLOW = (
    "cpu_limited",
    "disk_slow",
    "gpu_idle",
    "gpu_throttled",
    "input_bound",
    "retracing",
    "slow_callback",
    "slow_step",
    "straggler",
    "swap_thrash",
)


def judge(
    attempt: Attempt,
    life: Life,
    rules: Sequence[Rule] | None = None,
    *,
    team: Team | None = None,
    reader: Mapping[str, str] = MappingProxyType({}),
) -> Story:
    """The story of one attempt, with the root cause of what went wrong in it.

    Args:
        attempt: Its record.
        life: Whether its process lives.
        rules: The rules to ask; all of them by default.
        team: What the workers that train together spend their time on.
        reader: What whoever reads wants of rules, in the checked form of
            `events/rule_choices.py`. It comes after what the run itself asked for.
    """
    return conclude(ask(bounded(attempt), life, rules, team=team, reader=reader))


@dataclass(frozen=True, slots=True)
class Asked:
    """What the rules said of a run, before it is put in order.

    Attributes:
        told: How it stands or ended.
        found: What rules found, in no order.
        missing: What they missed.
    """

    told: Story
    found: tuple[Verdict, ...]
    missing: tuple[NotMeasured, ...]


def ask(
    attempt: Attempt,
    life: Life,
    rules: Sequence[Rule] | None = None,
    *,
    team: Team | None = None,
    reader: Mapping[str, str] = MappingProxyType({}),
) -> Asked:
    """Asks every rule that was not silenced; see `judge`."""
    with np.errstate(all="ignore"):
        return _asked(attempt, life, rules, team, reader)


def _asked(
    attempt: Attempt,
    life: Life,
    rules: Sequence[Rule] | None,
    team: Team | None,
    reader: Mapping[str, str],
) -> Asked:
    told = story.tell(attempt, life)
    rules = all_rules() if rules is None else rules
    chosen = choices(attempt, rules, reader)
    told = dataclasses.replace(told, silenced=chosen.silenced, tuned=chosen.tuned)
    case = Case(attempt, life, told, team, chosen.numbers)
    found: list[Verdict] = []
    missing: list[NotMeasured] = []
    for rule in (rule for rule in rules if rule.id not in chosen.off):
        outcome = _ask(rule, case)
        if isinstance(outcome, NotMeasured):
            missing.append(outcome)
        elif outcome is not None:
            found.append(outcome)
    lost = lost_loss(case, chosen.silenced, found)
    if lost is not None:
        found.append(lost)
    return Asked(told, tuple(found), tuple(dict.fromkeys(missing)))


def conclude(asked: Asked) -> Story:
    """One root cause, its consequences under it."""
    told, found, end = asked.told, list(asked.found), asked.told.verdict
    if end is not None:
        # A rule that names the same cause knows more of it than the end does.
        same = [one for one in found if one.id == end.id]
        if not same:
            found.append(dataclasses.replace(end, chip=end.chip or told.chip))
    ranked = _rank(_with_causes(found), end)
    return _retold(told, ranked, asked.missing)


def _ask(rule: Rule, case: Case) -> Verdict | NotMeasured | None:
    try:
        return rule.judge(case)
    except Exception as error:  # noqa: BLE001 - one rule must not cost the others
        return NotMeasured(
            what=f"the rule {rule.id}",
            why=f"it failed on this record ({type(error).__name__}: {error})",
        )


def _with_causes(found: Sequence[Verdict]) -> list[Verdict]:
    """Hangs every finding under the one that explains it best."""
    result = []
    for one in found:
        causes = [
            other
            for other in found
            if other.id != one.id
            and one.id in other.explains
            and not _explains_back(one, other)
        ]
        causes.sort(key=_weight)
        result.append(
            dataclasses.replace(one, caused_by=causes[0].id) if causes else one
        )
    return result


def _explains_back(one: Verdict, other: Verdict) -> bool:
    """Two findings that name each other: the surer one is the cause."""
    return other.id in one.explains and _weight(one) <= _weight(other)


def _rank(found: Sequence[Verdict], end: Verdict | None) -> tuple[Verdict, ...]:
    """Roots before their consequences; what explains the end comes first."""
    by_id = {one.id: one for one in found}
    root_of_end = _root(by_id[end.id], by_id).id if end and end.id in by_id else None

    def order(one: Verdict) -> tuple[object, ...]:
        # An end that was wanted explains nothing: other findings come before it.
        of_end = one.id == root_of_end and one.severity != "info"
        is_slow = one.id in _ONLY_SLOW
        return (not of_end, one.caused_by is not None, *_weight(one), is_slow, one.id)

    return tuple(sorted(found, key=order))


def _root(one: Verdict, by_id: dict[str, Verdict]) -> Verdict:
    for _ in range(_LONGEST_CHAIN):
        if one.caused_by is None or one.caused_by not in by_id:
            return one
        one = by_id[one.caused_by]
    return one


def _weight(one: Verdict) -> tuple[int, int]:
    return _SEVERITIES.index(one.severity), _CONFIDENCES.index(one.confidence)


def _retold(
    told: Story, ranked: tuple[Verdict, ...], missing: Iterable[NotMeasured]
) -> Story:
    missing = tuple(missing)
    root = ranked[0] if ranked else None
    # What is only good to know must not speak for a run.
    if root is None or root.severity == "info":
        return dataclasses.replace(told, findings=ranked, not_measured=missing)
    return dataclasses.replace(
        told,
        chip=root.chip or told.chip,
        severity=root.severity,
        headline=root.headline,
        verdict=root,
        findings=ranked,
        not_measured=missing,
    )
