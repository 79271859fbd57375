"""What many runs have in common: causes, hours lost to them, who fails again."""

from collections import defaultdict
from collections.abc import Sequence
from typing import TypedDict

from tb_health_plugin.cli.many_runs import Judged

# A program counts as one that fails again from this many runs with the same cause.
REPEATED = 2


class Cause(TypedDict):
    """One verdict over all runs.

    Attributes:
        lost_hours: How long those runs took, all together; 0 for healthy ones.
    """

    id: str
    severity: str
    runs: int
    lost_hours: float


class Repeated(TypedDict):
    """A program that ended more than once by the same cause."""

    program: str
    id: str
    runs: int
    lost_hours: float


class Overview(TypedDict):
    """The first page of a report over many runs."""

    runs: int
    problems: int
    lost_hours: float
    causes: list[Cause]
    repeated: list[Repeated]


def overview(judged: Sequence[Judged]) -> Overview:
    """Counts, most frequent cause first; healthy ones last."""
    causes: dict[str, Cause] = {}
    again: dict[tuple[str, str], list[Judged]] = defaultdict(list)
    for one in judged:
        verdict = one.answer["verdict"]
        id, lost = verdict["id"], lost_hours(one)
        severity = verdict["severity"]
        empty: Cause = {"id": id, "severity": severity, "runs": 0, "lost_hours": 0.0}
        cause = causes.setdefault(id, empty)
        cause["runs"] += 1
        cause["lost_hours"] += lost
        if severity != "info" and one.program:
            again[one.program, id].append(one)
    repeated: list[Repeated] = [
        {
            "program": program,
            "id": id,
            "runs": len(runs),
            "lost_hours": sum(map(lost_hours, runs)),
        }
        for (program, id), runs in again.items()
        if len(runs) >= REPEATED
    ]
    ranked = sorted(
        causes.values(), key=lambda c: (c["severity"] == "info", -c["runs"], c["id"])
    )
    bad = [one for one in judged if is_problem(one)]
    return {
        "runs": len(judged),
        "problems": len(bad),
        "lost_hours": sum(map(lost_hours, bad)),
        "causes": ranked,
        "repeated": sorted(repeated, key=lambda r: (-r["runs"], r["program"])),
    }


def is_problem(one: Judged) -> bool:
    return one.answer["verdict"]["severity"] != "info"


def lost_hours(one: Judged) -> float:
    """What a run took that has to be done again, or to be mended."""
    return one.hours if is_problem(one) else 0.0
