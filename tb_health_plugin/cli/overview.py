"""What many runs have in common: causes, hours lost to them, who fails again."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import TypedDict

from tb_health_plugin.cli.many_runs import Judged

# Something counts as failing again from this many runs with the same cause.
REPEATED = 2
# Hosts and datasets are shared by many programs, so it takes more.
REPEATED_SHARED = 3
# A host or a dataset stands out if it has this many times its share of a cause: where
# everything runs on one machine, all causes are on that machine.
STANDS_OUT = 1.5


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
    """What has the same cause again and again.

    Attributes:
        by: "program", "line" of code, "host" or "dataset".
        name: Which one.
    """

    by: str
    name: str
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
    for one in judged:
        verdict = one.answer["verdict"]
        id, severity = verdict["id"], verdict["severity"]
        empty: Cause = {"id": id, "severity": severity, "runs": 0, "lost_hours": 0.0}
        cause = causes.setdefault(id, empty)
        cause["runs"] += 1
        cause["lost_hours"] += lost_hours(one)
    ranked = sorted(
        causes.values(), key=lambda c: (c["severity"] == "info", -c["runs"], c["id"])
    )
    bad = [one for one in judged if is_problem(one)]
    return {
        "runs": len(judged),
        "problems": len(bad),
        "lost_hours": sum(map(lost_hours, bad)),
        "causes": ranked,
        "repeated": repeated(judged),
    }


def repeated(judged: Sequence[Judged]) -> list[Repeated]:
    """Programs and lines of code with the same cause more than once.

    Hosts and datasets, too, where there are others, which have it far less often.
    """
    found = []
    for by, name_of in _OFFENDERS.items():
        runs: dict[tuple[str, str], list[Judged]] = defaultdict(list)
        for one in filter(is_problem, judged):
            if name := name_of(one):
                runs[name, one.answer["verdict"]["id"]].append(one)
        for (name, id), ones in runs.items():
            least = REPEATED_SHARED if by in _SHARED else REPEATED
            if len(ones) >= least and _stands_out(judged, by, name, id):
                again: Repeated = {
                    "by": by,
                    "name": name,
                    "id": id,
                    "runs": len(ones),
                    "lost_hours": sum(map(lost_hours, ones)),
                }
                found.append(again)
    order = list(_OFFENDERS)
    return sorted(
        found, key=lambda r: (order.index(r["by"]), -r["runs"], r["name"], r["id"])
    )


def _stands_out(judged: Sequence[Judged], by: str, name: str, id: str) -> bool:
    """It has more of this cause than its share of all runs explains."""
    if by not in _SHARED:
        return True
    known = [one for one in judged if _OFFENDERS[by](one)]
    own = [one for one in known if _OFFENDERS[by](one) == name]
    cause = [one for one in known if one.answer["verdict"]["id"] == id]
    here = [one for one in own if one.answer["verdict"]["id"] == id]
    expected = len(own) / len(known) * len(cause)
    return len(here) >= STANDS_OUT * expected


def _line(one: Judged) -> str | None:
    """The line of the user's code that the verdict names."""
    place = one.answer["verdict"]["place"]
    file, line = place.get("file"), place.get("line")
    return f"{file}:{line}" if file and line else None


# What may fail again, in the order of the report.
_OFFENDERS: dict[str, Callable[[Judged], str | None]] = {
    "program": lambda one: one.program,
    "line": _line,
    "host": lambda one: one.host,
    "dataset": lambda one: one.dataset,
}
# Many programs use the same one, so that it has some of every cause.
_SHARED = ("host", "dataset")


def is_problem(one: Judged) -> bool:
    return one.answer["verdict"]["severity"] != "info"


def lost_hours(one: Judged) -> float:
    """What a run took that has to be done again, or to be mended."""
    return one.hours if is_problem(one) else 0.0
