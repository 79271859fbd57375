"""Picks the healthy run that a run is best compared with, and says why."""

import itertools
import posixpath
from collections.abc import Iterable
from dataclasses import dataclass

from tb_health_plugin.comparing.settings import differences, settings_of
from tb_health_plugin.reading.run_history import Attempt, RunHistory


@dataclass(frozen=True, slots=True)
class Twin:
    """The run to compare with, and the reason."""

    history: RunHistory
    why: str


def pick_twin(run: RunHistory, healthy: Iterable[RunHistory]) -> Twin | None:
    """The healthy run of the same program with the nearest settings.

    Among those equally near, the one whose name begins alike counts, then the newest.

    Args:
        run: The run under question.
        healthy: Runs that ended well; `run` itself may be among them.
    """
    if run.latest is None:
        return None
    program, settings = _program(run.latest), settings_of(run.latest)
    best: tuple[tuple[float, ...], RunHistory, int, int] | None = None
    for other in healthy:
        attempt = other.latest
        if attempt is None or other.run == run.run or _program(attempt) != program:
            continue
        theirs = settings_of(attempt)
        apart, known = len(differences(settings, theirs)), len({*settings, *theirs})
        alike = _alike(run.run, other.run)
        rank = (apart, -alike, -(attempt.started_at or 0.0))
        if best is None or rank < best[0]:
            best = rank, other, apart, known
    if best is None:
        return None
    _, history, apart, known = best
    return Twin(history, _why(program, apart, known))


def _why(program: str | None, apart: int, known: int) -> str:
    of = f"of {program} " if program else ""
    if not known:
        return f"A healthy run {of}whose name begins alike; settings were not recorded."
    if not apart:
        return f"A healthy run {of}with the same settings."
    verb = "differs" if apart == 1 else "differ"
    return (
        f"The healthy run {of}with the nearest settings: {apart:,} of {known:,} {verb}."
    )


def _alike(a: str, b: str) -> int:
    """How many characters two names begin with alike."""
    pairs = zip(a, b, strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


def _program(attempt: Attempt) -> str | None:
    start = attempt.start
    return posixpath.basename(start.program) if start and start.program else None
