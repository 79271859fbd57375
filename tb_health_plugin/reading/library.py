"""All runs below the log directory, kept up to date."""

import math
import posixpath
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tb_health_plugin.reading.attempt_reader import AttemptReader, Problem
from tb_health_plugin.reading.log_directory import FoundRun, Root, find_runs
from tb_health_plugin.reading.parts import wholes
from tb_health_plugin.reading.rule_files import Wishes, read_wishes
from tb_health_plugin.reading.run_history import Attempt, RunHistory
from tb_health_plugin.reading.workers import joined

# While a log directory is read for the first time, what is there so far is shown so
# often.
SHOWN_EACH_SECONDS = 0.5

# Told how many are done, and of how many.
Tick = Callable[[int, int], None]


@dataclass(slots=True)
class Run:
    """One row of the run list.

    Attributes:
        name: As TensorBoard names it.
        history: What was recorded; without attempts if nothing was.
        tensorboard_runs: Runs of TensorBoard's own tabs for the same training.
        problems: Files that could not be read as a whole.
        version: Rises whenever something about the run changed.
    """

    name: str
    history: RunHistory
    tensorboard_runs: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    version: int = 0


@dataclass(slots=True)
class _Followed:
    readers: dict[Path, AttemptReader] = field(default_factory=dict)
    has_events: bool = False
    wishes: Wishes = field(default_factory=lambda: Wishes({}))
    version: int = 0


class Library:
    """Reads the log directories again and again, each time only what is new.

    One thread refreshes; any thread may ask. What is handed out is never changed
    afterwards, except that its tables grow at their end.
    """

    def __init__(self, roots: Sequence[Root]) -> None:
        self.roots = tuple(roots)
        self._followed: dict[str, _Followed] = {}
        self._provider_runs: tuple[str, ...] = ()
        self._summaries: Mapping[str, Attempt] = {}
        self._lock = threading.Lock()
        self._runs: dict[str, Run] = {}
        # Runs that only hold other workers or parts of another run, by name.
        self._joined: Mapping[str, str] = {}
        self._made: dict[str, tuple[object, Run]] = {}
        self._published_at = -math.inf
        self.version = 0
        self.complete = False
        self.found = 0
        self.read = 0

    def runs(self) -> list[Run]:
        with self._lock:
            return list(self._runs.values())

    def run(self, name: str) -> Run | None:
        with self._lock:
            return self._runs.get(self._joined.get(name, name))

    def refresh(
        self,
        tick: Tick = lambda done, of: None,
        *,
        shown: Callable[[], object] = lambda: None,
    ) -> None:
        """Looks for new runs and new data.

        Args:
            tick: Called with how many runs were read, and of how many.
            shown: Called now and then while the runs are read for the first time: there
                are more of them.
        """
        for root in self.roots:
            root.refresh()
        found = [run for root in self.roots for run in find_runs(root)]
        self.found, self.read = len(found), 0
        names = {run.name for run in found}
        for run in found:
            changed = self._follow(run)
            self.read += 1
            tick(self.read, self.found)
            if changed and not self.complete and self._shown_long_ago():
                self._publish()
                shown()
        for name in set(self._followed) - names:
            del self._followed[name]
            self._made.pop(name, None)
        self.complete = True
        self._publish()

    def merge_summaries(
        self, run_names: Iterable[str], attempts: Mapping[str, Attempt]
    ) -> None:
        """Adds what TensorBoard's own loaders know."""
        self._provider_runs = tuple(sorted(run_names))
        self._summaries = attempts
        self._publish()

    def _follow(self, run: FoundRun) -> bool:
        followed = self._followed.setdefault(run.name, _Followed())
        changed = followed.has_events != run.has_events
        followed.has_events = run.has_events
        wishes = read_wishes(run.rule_files)
        changed |= wishes != followed.wishes
        followed.wishes = wishes
        for path in run.attempts:
            reader = followed.readers.get(path)
            if reader is None:
                reader = AttemptReader(path, late_seconds=run.late_seconds)
                followed.readers[path] = reader
            changed |= reader.refresh()
        followed.version += changed
        return changed

    def _publish(self) -> None:
        """Makes the run list anew from what is followed."""
        monitored = {n for n, f in self._followed.items() if f.readers}
        monitored |= {
            name for name in self._summaries if _owner(name, monitored) is None
        }
        joined = self._one_training()
        names: dict[str, list[str]] = {
            name: [] for name in sorted(monitored) if name not in joined
        }
        theirs = {n for n, f in self._followed.items() if f.has_events}
        theirs |= set(map(_normal, self._provider_runs))
        parts = wholes({n for n in theirs if _owner(n, monitored) is None})
        for name in sorted(theirs):
            owner = _owner(name, monitored) or parts.get(name, name)
            names.setdefault(joined.get(owner, owner), []).append(name)
        others: dict[str, list[str]] = {name: [name] for name in names}
        for name, owner in joined.items():
            others[owner].append(name)
        runs = {}
        for name in sorted(names):
            runs[name] = self._make_run(name, tuple(names[name]), others[name])
        with self._lock:
            if _fingerprint(runs) != _fingerprint(self._runs):
                self.version += 1
            self._runs = runs
            self._joined = {**parts, **joined}
        self._published_at = time.monotonic()

    def _shown_long_ago(self) -> bool:
        """Each showing costs all runs that are known, so there are only a few."""
        return time.monotonic() - self._published_at >= SHOWN_EACH_SECONDS

    def _one_training(self) -> dict[str, str]:
        return joined(
            {
                name: [reader.attempt for reader in followed.readers.values()]
                for name, followed in self._followed.items()
            }
        )

    def _make_run(self, name: str, shown: tuple[str, ...], parts: list[str]) -> Run:
        """The run `name`, whose workers wrote to `parts`."""
        followed = [self._followed[p] for p in parts if p in self._followed]
        mine = {name, *shown}
        extra = [a for n, a in self._summaries.items() if _normal(n) in mine]
        points = sum(len(a.samples) for a in extra)
        version = sum(one.version for one in followed) + points
        # What was made before is still right if nothing came since.
        key = (version, shown, tuple(parts), tuple(map(id, extra)))
        made = self._made.get(name)
        if made is None or made[0] != key:
            readers = [r for one in followed for r in one.readers.values()]
            wishes = followed[0].wishes if followed else Wishes({})
            run = Run(
                name=name,
                history=RunHistory(
                    name, [r.attempt for r in readers], extra, rules=wishes.rules
                ),
                tensorboard_runs=shown,
                problems=(
                    *(p for r in readers for p in r.problems),
                    *wishes.problems,
                ),
                version=version,
            )
            made = self._made[name] = (key, run)
        return made[1]


def _owner(name: str, monitored: set[str]) -> str | None:
    """The monitored run at this path or above it: Keras writes to run/train."""
    path = _normal(name)
    while path:
        if path in monitored:
            return path
        path = posixpath.dirname(path)
    return "." if "." in monitored else None


def _normal(name: str) -> str:
    """TensorBoard says "a/." where `--logdir_spec` names a directory with events."""
    return posixpath.normpath(name)


def _fingerprint(runs: Mapping[str, Run]) -> list[object]:
    return [(run.name, run.version, run.tensorboard_runs) for run in runs.values()]
