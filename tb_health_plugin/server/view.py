"""What the tab shows, kept ready: the library, refreshed, with a story per run."""

import dataclasses
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tb_health_plugin.diagnosis.live import LiveJudge
from tb_health_plugin.diagnosis.plain import tell_plain
from tb_health_plugin.diagnosis.together import StartStory, judge_run
from tb_health_plugin.diagnosis.verdict import Story
from tb_health_plugin.reading import from_data_provider
from tb_health_plugin.reading.library import Library, Run
from tb_health_plugin.reading.liveness import life_of
from tb_health_plugin.reading.provider_scalars import ProviderScalars
from tb_health_plugin.reading.run_history import Attempt, RunHistory
from tb_health_plugin.reading.scalars import Scalars


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
        partial: What is known of a run that is not monitored.
    """

    run: Run
    starts: tuple[StartStory, ...]
    version: str
    known: tuple[int, int, str]
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
        # A run may be part of another one: its workers write to several places.
        found = self.library.run(name)
        with self._lock:
            return self._told.get(found.name if found else name)

    def refresh(self) -> None:
        """Reads what is new and tells the stories again."""
        self.library.refresh()
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
        now = self._clock()
        told = {run.name: self._tell(run, now) for run in self.library.runs()}
        with self._lock:
            before = {name: one.version for name, one in self._told.items()}
            if before != {name: one.version for name, one in told.items()}:
                self._changes += 1
            self._told = told

    def _tell(self, run: Run, now: float) -> ToldRun:
        lives = {id(a): life_of(a, now) for a in run.history.attempts}
        partial = self._partial.get(run.name)
        said = partial.story.headline if partial else None
        shown = hash((run.tensorboard_runs, run.problems, said))
        alive = "".join("01"[one.alive] for one in lives.values())
        known = (run.version, shown, alive)
        told = self._told.get(run.name)
        if told is not None and told.known == known:
            # Judging is most of the work, and nothing has come that could change it.
            return told
        starts = judge_run(
            run.history,
            lambda attempt, team: self._judges.setdefault(attempt, LiveJudge()).look(
                attempt, lives[id(attempt)], team=team, reader=run.history.rules
            ),
        )
        if starts and starts[-1].workers:
            # Of several workers the one that the story is about speaks for all.
            history = run.history.spoken_for_by(starts[-1].attempt)
            run = dataclasses.replace(run, history=history)
        version = f"{self._birth}-{run.version}-{alive}-{shown}"
        return ToldRun(run, starts, version, known, partial)
