"""`diagnose(logdir)`: the answer for Python programs."""

import os
import time

from tb_health_plugin.diagnosis.as_json import Answer, answer
from tb_health_plugin.diagnosis.engine import judge
from tb_health_plugin.diagnosis.together import StartStory, judge_start
from tb_health_plugin.reading.liveness import life_of
from tb_health_plugin.reading.opening import NothingRecorded as NothingRecorded
from tb_health_plugin.reading.opening import open_library, recorded_run
from tb_health_plugin.reading.run_history import RunHistory


def diagnose(logdir: "str | os.PathLike[str]", run: str | None = None) -> Answer:
    """Says how a run stands or why it stopped.

    Args:
        logdir: The directory that TensorBoard reads, or that of one run.
        run: Name of the run; by default the one that was last heard of.

    Returns:
        The answer that `verdict.schema.json` describes.

    Raises:
        NotADirectoryError: `logdir` is none, or may not be read.
        NothingRecorded: No such run, or none with health data.
    """
    history, told = judge_latest(find_run(logdir, run))
    return answer(history, told.story, told)


def find_run(logdir: "str | os.PathLike[str]", run: str | None = None) -> RunHistory:
    """The history of one run; see `diagnose`."""
    return recorded_run(open_library(logdir), run).history


def judge_latest(history: RunHistory) -> tuple[RunHistory, StartStory]:
    """The latest start of a run, judged as of now.

    Returns:
        The history, with the worker that speaks for all as its latest attempt, and the
        story of the start.
    """
    now = time.time()
    told = judge_start(
        history.starts[-1],
        lambda attempt, team: judge(attempt, life_of(attempt, now), team=team),
        before=history.starts[-2] if len(history.starts) > 1 else None,
    )
    return history.spoken_for_by(told.attempt), told
