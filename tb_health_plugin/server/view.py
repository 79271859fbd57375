"""What the tab shows, kept ready: the library, refreshed, with a story per run.

Reading is fast, judging is not. So runs are shown as soon as they are read, with how
they ended, and are judged one after the other, newest first.
"""

import dataclasses
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tb_health_plugin.diagnosis import story as ending
from tb_health_plugin.diagnosis.live import LiveJudge
from tb_health_plugin.diagnosis.plain import tell_plain
from tb_health_plugin.diagnosis.together import Judge, StartStory, judge_run
from tb_health_plugin.diagnosis.verdict import Story
from tb_health_plugin.reading import from_data_provider
from tb_health_plugin.reading.library import Library, Run
from tb_health_plugin.reading.liveness import Life, life_of
from tb_health_plugin.reading.provider_scalars import ProviderScalars
from tb_health_plugin.reading.run_history import Attempt, RunHistory
from tb_health_plugin.reading.scalars import Scalars
from tb_health_plugin.server import payloads
from tb_health_plugin.server.rows import run_row


@dataclass(frozen=True, slots=True)
class Partial:
    """What the scalars of a run tell that is not monitored."""

    history: RunHistory
    story: Story


@dataclass(frozen=True, slots=True)
class ToldRun:
    """A run with the stories of its starts, newest last; none if not monitored.

    Attributes:
        run: It.
        starts: The stories.
        version: Another one whenever an answer about it may differ.
        known: What the stories were told from; the same means the same stories.
        row: It in the run list.
        partial: What is known of a run that is not monitored.
        judged: False as long as no rule was asked: the stories are then only about
            how it ended.
    """

    run: Run
    starts: tuple[StartStory, ...]
    version: str
    known: tuple[int, int, str]
    row: payloads.RunRow
    judged: bool
    partial: Partial | None = None

    @property
    def shown(self) -> RunHistory:
        """What is drawn of it."""
        if self.partial is not None and not self.run.history.attempts:
            return self.partial.history
        return self.run.history

    @property
    def start(self) -> StartStory | None:
        return self.starts[-1] if self.starts else None

    @property
    def story(self) -> Story | None:
        return self.start.story if self.start else None


class View:
    """The state behind all routes.

    Args:
        library: Where runs come from.
        provider: TensorBoard's data provider, or None.
        clock: Seconds since the epoch.
    """

    def __init__(
        self,
        library: Library,
        provider: Any = None,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.library = library
        self._provider = provider
        self._scalars = None if provider is None else ProviderScalars(provider)
        self._partial: dict[str, Partial] = {}
        self._clock = clock
        self._lock = threading.Lock()
        self._told: dict[str, ToldRun] = {}
        # Two starts of TensorBoard must not share an ETag.
        self._birth = f"{clock():.6f}"
        self._changes = 0
        # One run is judged at a time, whoever asks for it.
        self._judging = threading.Lock()
        self._judges: weakref.WeakKeyDictionary[Attempt, LiveJudge] = (
            weakref.WeakKeyDictionary()
        )

    @property
    def version(self) -> str:
        return f"{self._birth}-{self._changes}-{self.library.complete}"

    @property
    def has_runs(self) -> bool:
        return bool(self._told)

    def runs(self) -> list[ToldRun]:
        with self._lock:
            return list(self._told.values())

    def run(self, name: str) -> ToldRun | None:
        """One run, judged."""
        # A run may be part of another one: its workers write to several places.
        found = self.library.run(name)
        told = self._told.get(found.name if found else name)
        if told is None or told.judged:
            return told
        # Somebody wants to see this one, so it does not wait for its turn.
        return self._judge(told.run.name)

    def refresh(self) -> None:
        """Reads what is new and tells the stories again."""
        self.library.refresh(shown=self._show)
        # TensorBoard's loaders may take a long time; our own files need not wait.
        self.tell_all()
        try:
            if self._provider is not None:
                self.library.merge_summaries(
                    from_data_provider.list_runs(self._provider),
                    from_data_provider.read_attempts(self._provider),
                )
                self._tell_from_scalars()
        finally:
            # Our own files are shown even while TensorBoard's loaders fail.
            self.tell_all()

    def _tell_from_scalars(self) -> None:
        assert self._scalars is not None
        runs = self.library.runs()
        plain = (run for run in runs if not run.history.attempts)
        self.add_plain(self._scalars.read_trainings(plain))

    def add_plain(self, found: Mapping[str, Scalars]) -> None:
        """Tells what scalars tell of runs that are not monitored."""
        self._partial = {name: Partial(*tell_plain(one)) for name, one in found.items()}

    def tell_all(self) -> None:
        """Tells the stories again, of what was read so far."""
        for name in self._show():
            self._judge(name)

    def _show(self) -> list[str]:
        """Lists every run that was read; returns those to be judged, newest first."""
        told, stale = {}, []
        for run in self.library.runs():
            before = self._told.get(run.name)
            known = self._known(run)
            if before is None or (not before.judged and before.known != known):
                told[run.name] = self._tell(run, judged=not run.history.attempts)
            else:
                told[run.name] = before
            if not told[run.name].judged or told[run.name].known != known:
                stale.append(told[run.name])
        with self._lock:
            # Somebody may have asked for one of them meanwhile.
            told |= {
                name: now
                for name, now in self._told.items()
                if name in told and now.judged and not told[name].judged
            }
            versions = {name: one.version for name, one in self._told.items()}
            if versions != {name: one.version for name, one in told.items()}:
                self._changes += 1
            self._told = told
        stale.sort(key=lambda one: one.row["last_seen_at"] or 0.0, reverse=True)
        return [one.run.name for one in stale]

    def _judge(self, name: str) -> ToldRun | None:
        """Asks the rules about one run, unless nothing has come that could matter."""
        with self._judging:
            run, before = self.library.run(name), self._told.get(name)
            if run is None or run.name != name:
                return before
            if (
                before is not None
                and before.judged
                and before.known == self._known(run)
            ):
                return before
            told = self._tell(run, judged=True)
            with self._lock:
                self._told[name] = told
                self._changes += 1
            return told

    def _known(self, run: Run) -> tuple[int, int, str]:
        """What a story depends on: judging is most of the work."""
        partial = self._partial.get(run.name)
        seen = partial.history.attempts[0].last_seen_at if partial else None
        said = partial and (partial.story.headline, seen)
        shown = hash((run.tensorboard_runs, run.problems, said))
        now = self._clock()
        alive = "".join("01"[life_of(a, now).alive] for a in run.history.attempts)
        return (run.version, shown, alive)

    def _tell(self, run: Run, *, judged: bool) -> ToldRun:
        known, partial = self._known(run), self._partial.get(run.name)
        starts = judge_run(run.history, self._rules(run) if judged else self._ends())
        if starts and starts[-1].workers:
            # Of several workers the one that the story is about speaks for all.
            history = run.history.spoken_for_by(starts[-1].attempt)
            run = dataclasses.replace(run, history=history)
        told = starts[-1].story if starts else None
        row = run_row(run, told, partial.story if partial else None, judged=judged)
        version = f"{self._birth}-{known}-{judged}"
        return ToldRun(run, starts, version, known, row, judged, partial)

    def _rules(self, run: Run) -> Judge:
        return lambda attempt, team: self._judges.setdefault(attempt, LiveJudge()).look(
            attempt, self._life(attempt), team=team, reader=run.history.rules
        )

    def _ends(self) -> Judge:
        return lambda attempt, _: ending.tell(attempt, self._life(attempt))

    def _life(self, attempt: Attempt) -> Life:
        return life_of(attempt, self._clock())
