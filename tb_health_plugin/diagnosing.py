"""`diagnose(logdir)`: the answer for Python programs."""

import os
import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from tb_health_plugin.diagnosis.as_json import Answer, answer
from tb_health_plugin.diagnosis.engine import judge
from tb_health_plugin.diagnosis.plain import tell_plain
from tb_health_plugin.diagnosis.together import StartStory, judge_start
from tb_health_plugin.diagnosis.verdict import Story
from tb_health_plugin.events import facts
from tb_health_plugin.events.rule_choices import RULES_FILE, BadRules, checked
from tb_health_plugin.reading.library import Library, Run
from tb_health_plugin.reading.liveness import life_of
from tb_health_plugin.reading.opening import NothingRecorded as NothingRecorded
from tb_health_plugin.reading.opening import open_library, recorded_run
from tb_health_plugin.reading.run_history import RunHistory
from tb_health_plugin.reading.scalars import (
    add_summaries,
    newest,
    plain_runs,
    read_scalars,
)

# A job that is started again and again: the last few starts show the pattern.
MOST_EARLIER = 3
_LOOK_AGAIN_SECONDS = 0.2


def diagnose(
    logdir: "str | os.PathLike[str]",
    run: str | None = None,
    *,
    rules: Mapping[str, Any] | None = None,
    wait_seconds: float = 0.0,
) -> Answer:
    """Says how a run stands or why it stopped.

    Args:
        logdir: The directory that TensorBoard reads, or that of one run.
        run: Name of the run; by default the one that was last heard of.
        rules: Silences rules or tunes their numbers, as in `{"overfitting": "off",
            "input_bound.warning_share": 0.8}`. Comes after what the run asked for, and
            after `health_rules.json` in the log directory.
        wait_seconds: How long to wait for the end of a process that was there a moment
            ago, and is gone: its watcher is about to write how.

    Returns:
        The answer that `verdict.schema.json` describes. Of a run that was logged
        without our hook it tells what its scalars tell, and is marked as partial.

    Raises:
        NotADirectoryError: `logdir` is none, or may not be read.
        NothingRecorded: No such run, or nothing is known of it.
        BadRules: There is no such rule or number; a `ValueError`.
    """
    wanted = checked(rules or {})
    return answer_in(open_library(logdir), run, wanted, wait_seconds=wait_seconds)


def answer_in(
    library: Library,
    run: str | None,
    rules: Mapping[str, str],
    *,
    wait_seconds: float = 0.0,
) -> Answer:
    """The same for a log directory that has been read."""
    add_summaries(library)
    try:
        found = recorded_run(library, run)
        until = time.monotonic() + wait_seconds
        while _is_end_due(found.history) and time.monotonic() < until:
            time.sleep(_LOOK_AGAIN_SECONDS)
            library.refresh()
            found = recorded_run(library, run)
    except NothingRecorded:
        plain = _from_scalars(library, run)
        if plain is None:
            raise
        return {**answer(*plain), "partial": True}
    return answer_for(_with_wishes(found, rules))


def _is_end_due(history: RunHistory) -> bool:
    latest = history.latest
    if latest is None or latest.last(facts.ProcessEnded) is not None:
        return False
    return life_of(latest, time.time()).end_due


def latest_story(library: Library, run: str | None) -> tuple[RunHistory, Story]:
    """A run, and what is said of its latest start; see `diagnose`."""
    try:
        found = recorded_run(library, run)
    except NothingRecorded:
        plain = _from_scalars(library, run)
        if plain is None:
            raise
        return plain
    history, told = judge_latest(_with_wishes(found, {}))
    return history, told.story


def _from_scalars(library: Library, run: str | None) -> tuple[RunHistory, Story] | None:
    """The run as its scalars tell it, if there are any."""
    plain = plain_runs(library)
    if run is not None:
        found = library.run(run)
        plain = {n: places for n, places in plain.items() if found and n == found.name}
    if not plain:
        return None
    name = max(plain, key=lambda name: newest(plain[name]))
    scalars = read_scalars(name, plain[name])
    return tell_plain(scalars) if scalars.last is not None else None


def find_run(
    logdir: "str | os.PathLike[str]",
    run: str | None = None,
    *,
    rules: Mapping[str, str] = MappingProxyType({}),
) -> RunHistory:
    """The history of one run, with what is wanted of the rules; see `diagnose`."""
    return _with_wishes(recorded_run(open_library(logdir), run), rules)


def _with_wishes(run: Run, rules: Mapping[str, str]) -> RunHistory:
    for problem in run.problems:
        if problem.file.name == RULES_FILE:
            raise BadRules(f"{problem.file} {problem.message}")
    run.history.rules = {**run.history.rules, **rules}
    return run.history


def answer_for(history: RunHistory) -> Answer:
    """The answer for a run as of now, with a sentence on each start before it."""
    *earlier, told = _judge_starts(history, MOST_EARLIER + 1)
    return answer(history.spoken_for_by(told.attempt), told.story, told, earlier)


def judge_latest(history: RunHistory) -> tuple[RunHistory, StartStory]:
    """The latest start of a run, judged as of now.

    Returns:
        The history, with the worker that speaks for all as its latest attempt, and the
        story of the start.
    """
    (told,) = _judge_starts(history, 1)
    return history.spoken_for_by(told.attempt), told


def _judge_starts(history: RunHistory, most: int) -> list[StartStory]:
    now, starts = time.time(), history.starts

    return [
        judge_start(
            starts[n],
            lambda attempt, team: judge(
                attempt, life_of(attempt, now), team=team, reader=history.rules
            ),
            before=starts[n - 1] if n else None,
        )
        for n in range(max(0, len(starts) - most), len(starts))
    ]
