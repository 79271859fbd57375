"""What a chamber is: rounds of cruelty, each from a seed, each with promises kept."""

import random
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

# Of each chamber so many breaches are told; more say nothing new.
MOST_TOLD = 20


class Broken(AssertionError):
    """A promise was not kept."""


Round = Callable[[random.Random, Counter[str]], None]


@dataclass(frozen=True)
class Chamber:
    """One kind of cruelty.

    Attributes:
        name: For the command line.
        promise: What must hold, in one sentence.
        round: Does one round, counts what it did, and raises if a promise broke.
        share: Its part of the time, compared with the others.
    """

    name: str
    promise: str
    round: Round
    share: float = 1.0


@dataclass
class Tally:
    """What a chamber did and found."""

    chamber: Chamber
    rounds: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def failures(self) -> int:
        return self.counts["broken"]


def torment(
    chamber: Chamber, *, seed: int, seconds: float = 0.0, rounds: int | None = None
) -> Tally:
    """Runs rounds until the time is over or `rounds` are done."""
    tally = Tally(chamber)
    began = time.monotonic()
    while (
        tally.rounds < rounds
        if rounds is not None
        else time.monotonic() - began < seconds
    ):
        number = seed + tally.rounds
        try:
            chamber.round(random.Random(f"{chamber.name}-{number}"), tally.counts)
        except Exception as error:  # noqa: BLE001 - every one of them is what we look for
            tally.counts["broken"] += 1
            if len(tally.broken) < MOST_TOLD:
                where = traceback.format_exc() if not isinstance(error, Broken) else ""
                tally.broken.append(f"seed {number}: {error}\n{where}".rstrip())
        tally.rounds += 1
    tally.seconds = time.monotonic() - began
    return tally
