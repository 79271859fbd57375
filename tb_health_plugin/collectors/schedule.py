"""Runs collectors: times each, and lets a failing one rest ever longer."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tb_health_plugin.collectors.collector import Collector

FIRST_REST_SECONDS = 2.0
# A source that fails for good costs one try in five minutes.
LONGEST_REST_SECONDS = 300.0


@dataclass(slots=True)
class State:
    """How one collector is doing.

    Attributes:
        spent_seconds: Time its readings took, all together.
        readings: How many it made.
        failures: How many failed since the last good one.
        rests_until: Not asked before this time, by the schedule's clock.
        error: Why the last reading failed; empty if it did not.
    """

    spent_seconds: float = 0.0
    readings: int = 0
    failures: int = 0
    rests_until: float = 0.0
    error: str = ""


class Schedule:
    """All collectors of an attempt, asked together once per sample.

    Args:
        collectors: The sources to read.
        changed: Called with what, error and True when one begins to fail, and
            with False when it works again.
        clock: Seconds; never jumps.
    """

    def __init__(
        self,
        collectors: Sequence[Collector],
        *,
        changed: Callable[[str, str, bool], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._collectors = tuple(collectors)
        self._changed = changed
        self._clock = clock
        self.states = {c.what: State() for c in self._collectors}

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for c in self._collectors for name in c.columns)

    def sample(self) -> dict[str, float]:
        """The numbers of this moment. What fails is left out, never raised."""
        numbers: dict[str, float] = {}
        for collector in self._collectors:
            what = collector.what
            state = self.states[what]
            began = self._clock()
            if began < state.rests_until:
                continue
            try:
                numbers.update(collector.collect())
            except Exception as error:  # noqa: BLE001 - one source must not stop the rest
                self._failed(what, state, error)
            else:
                self._worked(what, state)
            state.readings += 1
            state.spent_seconds += self._clock() - began
        return numbers

    def _failed(self, what: str, state: State, error: Exception) -> None:
        state.failures += 1
        state.error = f"{type(error).__name__}: {error}"
        rest = FIRST_REST_SECONDS * 2.0 ** min(state.failures - 1, 30)
        state.rests_until = self._clock() + min(rest, LONGEST_REST_SECONDS)
        if state.failures == 1:
            self._changed(what, state.error, True)

    def _worked(self, what: str, state: State) -> None:
        if state.failures:
            self._changed(what, state.error, False)
        state.failures = 0
        state.error = ""
