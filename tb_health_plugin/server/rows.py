"""One row of the run list: a run in a few words and numbers."""

import math

import numpy as np

from tb_health_plugin.diagnosis.verdict import Story
from tb_health_plugin.events import facts
from tb_health_plugin.events.columns import MOST_GPUS
from tb_health_plugin.reading.library import Run
from tb_health_plugin.reading.run_history import Attempt
from tb_health_plugin.reading.table import Array, Table, measured
from tb_health_plugin.server import payloads
from tb_health_plugin.server.lanes import memory_limit

# Ends what is said of a run that was logged without our hook.
PARTIAL = " (partial: from its scalars alone)"


def run_row(
    run: Run, story: Story | None, partial: Story | None, *, judged: bool
) -> payloads.RunRow:
    """One row of the run list.

    Args:
        run: The run.
        story: How it stands; none if it is not monitored.
        partial: What its scalars tell, if it is not.
        judged: False while rules have not been asked yet.
    """
    attempt = run.history.latest
    row: payloads.RunRow = {
        "name": run.name,
        "monitored": story is not None,
        "judged": judged,
        "state": None,
        "chip": "Not monitored",
        "severity": None,
        "headline": "No health data was recorded for this run",
        "started_at": None,
        "last_seen_at": None,
        "ended_at": None,
        "ran_for_seconds": None,
        "step": None,
        "planned_steps": None,
        "epoch": None,
        "planned_epochs": None,
        "peak_memory_bytes": None,
        "memory_limit_bytes": None,
        "data_wait_fraction": None,
        "gpu_busy_fraction": None,
        "marks": [],
        "attempts": len(run.history.starts),
        "tensorboard_runs": list(run.tensorboard_runs),
    }
    if story is None or attempt is None:
        if partial is not None:
            _add_partial(row, partial)
        return row
    row["state"] = story.state
    row["chip"] = story.chip
    row["severity"] = story.severity
    row["headline"] = story.headline
    _add_progress(row, attempt, live=story.state in ("running", "stuck"))
    row["marks"] = _marks(story, row["step"])
    return row


def _add_partial(row: payloads.RunRow, partial: Story) -> None:
    """A run that is not monitored is told as far as its scalars go."""
    row["headline"] = partial.headline
    if partial.severity != "info":
        row["headline"] += PARTIAL
    if partial.verdict is not None:
        row["step"] = partial.verdict.stopped_at.step
        row["last_seen_at"] = partial.verdict.stopped_at.wall_time


def _marks(story: Story, last_step: int | None) -> list[payloads.Mark]:
    """Where something went wrong, and where it ended for that."""
    if story.severity == "info":
        return []
    causes = [(f.cause_at.step, f.severity) for f in reversed(story.findings)]
    if story.verdict is not None:
        causes.append((story.verdict.cause_at.step, story.severity))
    # Of several at one step the worst is told last, and stays.
    steps = {
        step: severity
        for step, severity in [*causes, (last_step, story.severity)]
        if step is not None and severity != "info"
    }
    return [{"step": step, "severity": steps[step]} for step in sorted(steps)]


def _add_progress(row: payloads.RunRow, attempt: Attempt, *, live: bool) -> None:
    table = attempt.samples
    started, seen = attempt.started_at, attempt.last_seen_at
    row["started_at"] = started
    row["last_seen_at"] = seen
    row["ended_at"] = None if live else seen
    if started is not None and seen is not None:
        row["ran_for_seconds"] = seen - started
    row["step"] = attempt.last_step
    row["planned_steps"] = _planned_steps(attempt)
    begun = attempt.last(facts.TrainingStarted)
    row["planned_epochs"] = begun.planned_epochs if begun else None
    row["epoch"] = _epoch_now(attempt)
    limit = memory_limit(table)
    # Compared with the limit beside it, so it must be what that limit counts.
    limited = table.has("cgroup_memory_limit_bytes")
    held = "cgroup_memory_used_bytes" if limited else "process_rss_bytes"
    row["peak_memory_bytes"] = _highest(table, held)
    row["memory_limit_bytes"] = limit.value if limit else None
    row["data_wait_fraction"] = _waiting(attempt)
    row["gpu_busy_fraction"] = _gpu_busy(table)


def _waiting(attempt: Attempt) -> float | None:
    """Share of the training that was spent waiting for data."""
    spent = [s for s in attempt.all(facts.TimeSpent) if s.wait_seconds is not None]
    if spent:
        waited = math.fsum(s.wait_seconds or 0.0 for s in spent)
        took = math.fsum(s.seconds or 0.0 for s in spent)
    else:
        table = attempt.samples
        waited, took = (_sum(table, n) for n in ("wait_seconds", "step_seconds"))
    return min(1.0, waited / took) if took > 0 else None


def _gpu_busy(table: Table) -> float | None:
    """Share of the time that the GPUs worked, all of them together."""
    busy = [
        values[measured(values)]
        for gpu in range(MOST_GPUS)
        if table.has(name := f"gpu{gpu}_busy_fraction")
        for values in [table.column(name)]
    ]
    known = np.concatenate(busy) if busy else np.empty(0)
    return float(np.mean(known)) if len(known) else None


def _planned_steps(attempt: Attempt) -> int | None:
    """Steps of earlier trainings as they were, and of the last one as planned."""
    begun = attempt.last(facts.TrainingStarted)
    if begun is None or not begun.planned_steps_per_epoch or not begun.planned_epochs:
        return None
    epochs = begun.planned_epochs - (begun.initial_epoch or 0)
    return (begun.first_step or 0) + epochs * begun.planned_steps_per_epoch


def _epoch_now(attempt: Attempt) -> int | None:
    epochs = attempt.samples.column("epoch")
    known = epochs[measured(epochs)]
    ended = attempt.last(facts.EpochEnded)
    of_ended = ended.epoch + 1 if ended and ended.epoch is not None else None
    # A loop of the program's own is in its next epoch once it has told that one ended.
    is_at_its_end = ended is not None and ended.last_step == attempt.last_step
    if len(known) and not (is_at_its_end and attempt.last(facts.TrainingEnded)):
        return int(known[-1]) + 1
    return of_ended


def _highest(table: Table, column: str) -> float | None:
    known = _finite(table, column)
    return float(known.max()) if len(known) else None


def _sum(table: Table, column: str) -> float:
    return float(_finite(table, column).sum())


def _finite(table: Table, column: str) -> Array:
    values = table.column(column)
    return values[np.isfinite(values)]
