"""Judges all runs of log directories, each as one story."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tb_health_plugin.cli.engines import Engine, on_all_cores
from tb_health_plugin.diagnosing import judge_latest
from tb_health_plugin.diagnosis.as_json import Answer, answer
from tb_health_plugin.events import facts
from tb_health_plugin.reading.attempt_reader import AttemptReader
from tb_health_plugin.reading.library import Tick
from tb_health_plugin.reading.log_directory import FoundRun, Root, find_runs
from tb_health_plugin.reading.rule_files import read_wishes
from tb_health_plugin.reading.run_history import Attempt, RunHistory
from tb_health_plugin.reading.table import TIME
from tb_health_plugin.reading.workers import joined, worker_of


@dataclass(frozen=True, slots=True)
class Judged:
    """A run and what is said of it.

    Attributes:
        logdir: Where it was found.
        program: The program that trained; None if that is not known.
        host: Where it ran; None if that is not known.
        dataset: What it was trained on, in a few words; None if nobody saw it.
        hours: From its first to its last sign of life.
        settings: What its start recorded: versions and the like.
    """

    logdir: str
    answer: Answer
    program: str | None
    host: str | None
    dataset: str | None
    hours: float
    settings: dict[str, str]


@dataclass(frozen=True, slots=True)
class _Training:
    """One training to judge.

    Attributes:
        logdir: Where it was found.
        places: Where it was recorded; several if its workers write apart, and then the
            one that leads comes first.
    """

    logdir: str
    places: tuple[FoundRun, ...]


@dataclass(frozen=True, slots=True)
class _Told:
    """What became of it.

    Attributes:
        judged: None if the record is there but holds nothing that can be read.
        workers: Starts and ends of those that may belong to a larger training.
    """

    judged: Judged | None
    workers: tuple[Attempt, ...]


def judge_all(
    roots: Iterable[Root],
    tick: Tick = lambda done, of: None,
    *,
    engine: Engine = on_all_cores,
) -> list[Judged]:
    """Every run with health data, in the order of directories and names.

    Args:
        roots: Directories that can be read.
        tick: Called with how many are done, and of how many.
        engine: Where the work is done; the results are the same.
    """
    found = [
        _Training(root.shown, (run,))
        for root in roots
        for run in find_runs(root)
        if run.attempts
    ]
    told = []
    for one in engine(_judge, found):
        told.append(one)
        tick(len(told), len(found))
    _join(found, told, engine)
    return [one.judged for one in told if one.judged is not None]


def _join(found: Sequence[_Training], told: list[_Told], engine: Engine) -> None:
    """Judges workers again as one where they wrote to several places."""
    owners = joined({n: one.workers for n, one in enumerate(told)})
    teams: dict[int, list[int]] = defaultdict(list)
    for number, owner in owners.items():
        teams[owner].append(number)
        told[number] = _Told(None, ())
    together = [
        _Training(
            found[owner].logdir,
            tuple(place for n in (owner, *others) for place in found[n].places),
        )
        for owner, others in teams.items()
    ]
    for owner, one in zip(teams, engine(_judge, together), strict=True):
        told[owner] = one


def _judge(training: _Training) -> _Told:
    lead = training.places[0]
    readers = [
        AttemptReader(path, late_seconds=place.late_seconds)
        for place in training.places
        for path in place.attempts
    ]
    for reader in readers:
        reader.refresh()
    attempts = [r.attempt for r in readers if r.attempt.last_seen_at is not None]
    if not attempts:
        return _Told(None, ())
    history, told = judge_latest(
        RunHistory(lead.name, attempts, rules=read_wishes(lead.rule_files).rules)
    )
    latest = told.attempt
    start = latest.start
    seen, began = latest.last_seen_at or 0.0, latest.started_at or 0.0
    judged = Judged(
        logdir=training.logdir,
        answer=answer(history, told.story, told),
        program=start.program if start else None,
        host=start.host if start else None,
        dataset=_dataset(latest),
        hours=(seen - began) / 3_600,
        settings=dict(start.settings) if start else {},
    )
    return _Told(judged, tuple(_life(a) for a in attempts if _may_be_joined(a)))


def _may_be_joined(attempt: Attempt) -> bool:
    worker = worker_of(attempt)
    return worker is not None and worker.is_together


def _life(attempt: Attempt) -> Attempt:
    """Its start and its end alone, which is all that tells whom it belongs to."""
    small = Attempt(attempt.id)
    if attempt.start is not None:
        small.add(attempt.start)
    times = [attempt.started_at or 0.0, attempt.last_seen_at or 0.0]
    small.samples.append({TIME: times})
    return small


def _dataset(attempt: Attempt) -> str | None:
    """The data of its last training, as far as it was seen."""
    begun = attempt.last(facts.TrainingStarted)
    settings = begun.settings if begun else {}
    kind = settings.get("data.class") or settings.get("data.kind")
    if not kind:
        return None
    examples = settings.get("data.examples")
    batches = settings.get("data.batches")
    size = f"{examples} rows" if examples else f"{batches} batches" if batches else ""
    return ", ".join(filter(None, (kind, size, settings.get("data.elements"))))
