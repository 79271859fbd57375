"""`diagnose(logdir)`: the answer for Python programs."""

import os
import time
from pathlib import Path

from tb_health_plugin.diagnosis.as_json import Answer, answer
from tb_health_plugin.diagnosis.engine import judge
from tb_health_plugin.diagnosis.together import judge_start
from tb_health_plugin.reading.library import Library
from tb_health_plugin.reading.liveness import life_of
from tb_health_plugin.reading.log_directory import Root
from tb_health_plugin.reading.run_history import RunHistory


class NothingRecorded(LookupError):
    """There is no run with health data below that directory."""


def diagnose(logdir: "str | os.PathLike[str]", run: str | None = None) -> Answer:
    """Says how a run stands or why it stopped.

    Args:
        logdir: The directory that TensorBoard reads, or that of one run.
        run: Name of the run; by default the one that was last heard of.

    Returns:
        The answer that `verdict.schema.json` describes.

    Raises:
        NotADirectoryError: `logdir` is none.
        NothingRecorded: No such run, or none with health data.
    """
    history, now = find_run(logdir, run), time.time()
    told = judge_start(
        history.starts[-1],
        lambda attempt, team: judge(attempt, life_of(attempt, now), team=team),
        before=history.starts[-2] if len(history.starts) > 1 else None,
    )
    return answer(history.spoken_for_by(told.attempt), told.story, told)


def find_run(logdir: "str | os.PathLike[str]", run: str | None = None) -> RunHistory:
    """The history of one run; see `diagnose`."""
    directory = Path(logdir).expanduser()
    if not directory.is_dir():
        raise NotADirectoryError(f"{directory} is not a directory")
    library = Library([Root(directory)])
    library.refresh()
    recorded = [r.history for r in library.runs() if r.history.attempts]
    if run is not None:
        recorded = [history for history in recorded if history.run == run]
    if not recorded:
        which = f"called {run!r} " if run is not None else ""
        raise NothingRecorded(f"No run {which}with health data below {directory}")
    return max(recorded, key=_last_seen)


def _last_seen(history: RunHistory) -> float:
    return max(a.last_seen_at or 0.0 for a in history.attempts)
