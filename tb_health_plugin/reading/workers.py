"""Tells workers of one start from starts one after the other."""

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    # A history is made of starts, so it imports this module.
    from tb_health_plugin.reading.run_history import Attempt

K = TypeVar("K", bound=Hashable)

# As older records word TF_CONFIG: "task worker 0, cluster worker 2, ps 1".
_CONFIG = re.compile(r"task (\w+) (\d+), cluster (.*)")
# Workers of one start need not come at once: images are pulled, queues are long. One
# that comes later than this after all others have gone is another start.
LATE_SECONDS = 60.0
# These tell where others are: who has the same ones trains with them. A scheduler also
# starts processes that know nothing of each other.
_TOGETHER = ("TF_CONFIG", "Horovod", "torchrun", "Ray Train", "Kubeflow")
_LEADS = ("chief", "master")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerId:
    """The place of one process among others.

    Attributes:
        role: "worker", "chief", "ps" and the like.
        rank: Its number in that role, counted from 0.
        size: How many there are, all roles together; 0 if nobody says.
        by: Who says so.
        job: The same for all of one start; empty if unknown.
    """

    role: str
    rank: int
    size: int
    by: str
    job: str = ""

    @property
    def name(self) -> str:
        """As in "worker 1"."""
        return f"{self.role} {self.rank}"

    @property
    def is_together(self) -> bool:
        """It trains with the others for sure, wherever they write."""
        return self.by in _TOGETHER and bool(self.job)

    @property
    def order(self) -> tuple[bool, bool, str, int]:
        """The one that leads comes first, those that only keep weights last."""
        return self.role not in _LEADS, self.role == "ps", self.role, self.rank


@dataclass(frozen=True, slots=True)
class Start:
    """The processes of one start, the one that leads first; mostly a single one."""

    attempts: "tuple[Attempt, ...]"

    @property
    def is_distributed(self) -> bool:
        """Several processes train together, or should."""
        ids = [worker_of(attempt) for attempt in self.attempts]
        return len(ids) > 1 or any(one and one.size > 1 for one in ids)

    @property
    def lead(self) -> "Attempt":
        return self.attempts[0]

    @property
    def size(self) -> int:
        """How many there should be."""
        told = [one.size for one in map(worker_of, self.attempts) if one]
        return max(len(self.attempts), *told, 1)


def worker_of(attempt: "Attempt") -> WorkerId | None:
    """Which worker it is; None if it is alone or nobody says."""
    settings = attempt.start.settings if attempt.start else {}
    rank, size = settings.get("worker.rank", ""), settings.get("worker.size", "0")
    if rank.isdecimal() and size.isdecimal():
        return WorkerId(
            role=settings.get("worker.role", "worker"),
            rank=int(rank),
            size=int(size),
            by=settings.get("worker.by", ""),
            job=settings.get("worker.job", ""),
        )
    return _from_config(settings.get("env.TF_CONFIG", ""))


def _from_config(text: str) -> WorkerId | None:
    found = _CONFIG.match(text)
    if not found:
        return None
    size = sum(int(count) for count in re.findall(r"\w+ (\d+)", found[3]))
    if size < 2:
        return None
    return WorkerId(role=found[1], rank=int(found[2]), size=size, by="TF_CONFIG")


def starts(attempts: "Iterable[Attempt]") -> tuple[Start, ...]:
    """The starts of one run, oldest first."""
    found: list[_Open] = []
    # Only the newest start of a kind can still take one up.
    newest: dict[tuple[str, str, int], _Open] = {}
    for attempt in sorted(attempts, key=lambda a: (a.started_at or 0.0, a.id)):
        worker = worker_of(attempt)
        key = (worker.by, worker.job, worker.size) if worker else None
        current = newest.get(key) if key else None
        if current is None or worker is None or not current.takes(worker, attempt):
            current = _Open()
            found.append(current)
            if key:
                newest[key] = current
        current.add(worker, attempt)
    return tuple(one.close() for one in found)


def joined(runs: "Mapping[K, Iterable[Attempt]]") -> dict[K, K]:
    """Runs that are one training, because its workers write to different places.

    Args:
        runs: By their names, or by whatever else tells them apart.

    Returns:
        By name of a run: the one that its workers belong to, where the lead writes.
    """
    places = {
        id(attempt): (run, attempt)
        for run, attempts in runs.items()
        for attempt in attempts
        if (worker := worker_of(attempt)) and worker.is_together
    }
    owners: dict[K, K] = {}
    for start in starts(attempt for _, attempt in places.values()):
        names = [places[id(attempt)][0] for attempt in start.attempts]
        owner = owners.get(names[0], names[0])
        for name in names:
            owners.setdefault(name, owner)
    return {run: owner for run, owner in owners.items() if owner != run}


class _Open:
    """A start that others may still belong to."""

    def __init__(self) -> None:
        self._members: dict[str, tuple[WorkerId | None, Attempt]] = {}
        self._seen_at = 0.0

    def takes(self, worker: WorkerId, attempt: "Attempt") -> bool:
        """A second process in the same place is another start."""
        is_free = worker.name not in self._members
        return is_free and (attempt.started_at or 0.0) <= self._seen_at + LATE_SECONDS

    def add(self, worker: WorkerId | None, attempt: "Attempt") -> None:
        self._members[worker.name if worker else ""] = (worker, attempt)
        self._seen_at = max(self._seen_at, attempt.last_seen_at or 0.0)

    def close(self) -> Start:
        members: Sequence[tuple[WorkerId | None, Attempt]] = sorted(
            self._members.values(), key=lambda one: one[0].order if one[0] else ()
        )
        return Start(tuple(attempt for _, attempt in members))
