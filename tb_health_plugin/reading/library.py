"""All runs below the log directory, kept up to date."""

import posixpath
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tb_health_plugin.reading.attempt_reader import AttemptReader, Problem
from tb_health_plugin.reading.log_directory import FoundRun, Root, find_runs
from tb_health_plugin.reading.run_history import Attempt, RunHistory


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
        self.version = 0
        self.complete = False
        self.found = 0
        self.read = 0

    def runs(self) -> list[Run]:
        with self._lock:
            return list(self._runs.values())

    def run(self, name: str) -> Run | None:
        with self._lock:
            return self._runs.get(name)

    def refresh(self) -> None:
        """Looks for new runs and new data. Rows appear as they are read."""
        found = [run for root in self._local_roots() for run in find_runs(root)]
        self.found, self.read = len(found), 0
        names = {run.name for run in found}
        for run in found:
            changed = self._follow(run)
            self.read += 1
            if changed and not self.complete:
                self._publish()
        for name in set(self._followed) - names:
            del self._followed[name]
        self.complete = True
        self._publish()

    def merge_summaries(
        self, run_names: Iterable[str], attempts: Mapping[str, Attempt]
    ) -> None:
        """Adds what TensorBoard's own loaders know."""
        self._provider_runs = tuple(sorted(run_names))
        self._summaries = attempts
        self._publish()

    def _local_roots(self) -> list[Root]:
        return [root for root in self.roots if not root.remote]

    def _follow(self, run: FoundRun) -> bool:
        followed = self._followed.setdefault(run.name, _Followed())
        changed = followed.has_events != run.has_events
        followed.has_events = run.has_events
        for path in run.attempts:
            reader = followed.readers.setdefault(path, AttemptReader(path))
            changed |= reader.refresh()
        followed.version += changed
        return changed

    def _publish(self) -> None:
        """Makes the run list anew from what is followed."""
        monitored = {n for n, f in self._followed.items() if f.readers}
        monitored |= {
            name for name in self._summaries if _owner(name, monitored) is None
        }
        names: dict[str, list[str]] = {name: [] for name in sorted(monitored)}
        theirs = {n for n, f in self._followed.items() if f.has_events}
        theirs |= set(map(_normal, self._provider_runs))
        for name in sorted(theirs):
            names.setdefault(_owner(name, monitored) or name, []).append(name)
        runs = {}
        for name in sorted(names):
            runs[name] = self._make_run(name, tuple(names[name]))
        with self._lock:
            if _fingerprint(runs) != _fingerprint(self._runs):
                self.version += 1
            self._runs = runs

    def _make_run(self, name: str, shown: tuple[str, ...]) -> Run:
        followed = self._followed.get(name, _Followed())
        attempts = [reader.attempt for reader in followed.readers.values()]
        mine = {name, *shown}
        extra = [a for n, a in self._summaries.items() if _normal(n) in mine]
        points = sum(len(a.samples) for a in extra)
        return Run(
            name=name,
            history=RunHistory(name, attempts, extra),
            tensorboard_runs=shown,
            problems=tuple(p for r in followed.readers.values() for p in r.problems),
            version=followed.version + points,
        )


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
