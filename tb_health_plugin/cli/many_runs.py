"""Judges all runs of log directories, on all cores."""

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tb_health_plugin.diagnosing import judge_latest
from tb_health_plugin.diagnosis.as_json import Answer, answer
from tb_health_plugin.reading.attempt_reader import AttemptReader
from tb_health_plugin.reading.library import Tick
from tb_health_plugin.reading.log_directory import FoundRun, Root, find_runs
from tb_health_plugin.reading.rule_files import read_wishes
from tb_health_plugin.reading.run_history import RunHistory

# Below this, starting more processes takes longer than they would save.
WORTH_PROCESSES = 24
_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Judged:
    """A run and what is said of it.

    Attributes:
        logdir: Where it was found.
        program: The program that trained; None if that is not known.
        host: Where it ran; None if that is not known.
        hours: From its first to its last sign of life.
        settings: What its start recorded: versions and the like.
    """

    logdir: str
    answer: Answer
    program: str | None
    host: str | None
    hours: float
    settings: dict[str, str]


def judge_all(
    logdirs: Iterable[Path], tick: Tick = lambda done, of: None
) -> list[Judged]:
    """Every run with health data, in the order of directories and names.

    Args:
        logdirs: Directories that exist.
        tick: Called with how many are done, and of how many.
    """
    found = [
        (str(logdir), run)
        for logdir in logdirs
        for run in find_runs(Root(logdir.expanduser()))
        if run.attempts
    ]
    judged = []
    for done, one in enumerate(_each(found), start=1):
        tick(done, len(found))
        if one is not None:
            judged.append(one)
    return judged


def _each(found: list[tuple[str, FoundRun]]) -> Iterator[Judged | None]:
    cores = os.cpu_count() or 1
    if len(found) < WORTH_PROCESSES or cores == 1:
        yield from map(_judge, found)
        return
    with ProcessPoolExecutor(cores) as pool:
        yield from pool.map(_judge, found, chunksize=_AT_ONCE)


def _judge(found: tuple[str, FoundRun]) -> Judged | None:
    """None if the record is there but holds nothing that can be read."""
    logdir, run = found
    readers = [AttemptReader(path) for path in run.attempts]
    for reader in readers:
        reader.refresh()
    attempts = [r.attempt for r in readers if r.attempt.last_seen_at is not None]
    if not attempts:
        return None
    history, told = judge_latest(
        RunHistory(run.name, attempts, rules=read_wishes(run.rule_files).rules)
    )
    latest = told.attempt
    start = latest.start
    seen, began = latest.last_seen_at or 0.0, latest.started_at or 0.0
    return Judged(
        logdir=logdir,
        answer=answer(history, told.story, told),
        program=start.program if start else None,
        host=start.host if start else None,
        hours=(seen - began) / 3_600,
        settings=dict(start.settings) if start else {},
    )
