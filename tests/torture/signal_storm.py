"""Sends signals to the training, its watcher or both, at random moments."""

import contextlib
import os
import random
import signal
from collections import Counter

from tb_health_plugin.diagnosing import NothingRecorded
from tests.torture.chamber import Broken, Chamber
from tests.torture.victim import Victim, victim

# How each must be told, if it ended the training. None of them is a lack of memory.
VERDICTS = {
    signal.SIGKILL: {"killed_outside"},
    signal.SIGTERM: {"preempted"},
    signal.SIGHUP: {"killed_outside", "preempted"},
    signal.SIGINT: {"user_interrupt"},
    signal.SIGSEGV: {"native_crash"},
    signal.SIGABRT: {"native_crash"},
}


def kill_the_training(rng: random.Random, one: Victim, counts: Counter[str]) -> None:
    number = rng.choice(sorted(VERDICTS))
    one.live_for(rng)
    one.send(number)
    code = one.process.wait()
    counts[signal.Signals(number).name] += 1
    _check_end(one, code, number)


def stop_and_continue(rng: random.Random, one: Victim, counts: Counter[str]) -> None:
    for _ in range(rng.randrange(1, 6)):
        one.live_for(rng, 0.3)
        one.send(signal.SIGSTOP)
        one.live_for(rng, 0.3)
        one.send(signal.SIGCONT)
        counts["SIGSTOP and SIGCONT"] += 1
    one.must_finish_well()
    _check_end(one, 0, 0)


def hurt_the_watcher(rng: random.Random, one: Victim, counts: Counter[str]) -> None:
    one.live_for(rng)
    number = rng.choice((signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM, signal.SIGINT))
    watcher = one.watcher()
    if watcher is not None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(watcher, number)
        counts[f"watcher {signal.Signals(number).name}"] += 1
    one.must_finish_well()


def kill_both(rng: random.Random, one: Victim, counts: Counter[str]) -> None:
    one.live_for(rng)
    watcher = one.watcher()
    if watcher is not None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(watcher, signal.SIGKILL)
    one.send(signal.SIGKILL)
    one.process.wait()
    counts["both killed"] += 1
    try:
        findings = one.story().findings
    except NothingRecorded:
        # Both died before the first word was written, which is what is said.
        counts["both killed before the first word"] += 1
        return
    for found in findings:
        if found.confidence == "proven" and found.severity != "info":
            raise Broken(f"nobody saw the end, but: proven {found.headline}")


ATTACKS = (kill_the_training, stop_and_continue, hurt_the_watcher, kill_both)


def torture(rng: random.Random, counts: Counter[str]) -> None:
    with victim() as one:
        rng.choice(ATTACKS)(rng, one, counts)


def _check_end(one: Victim, code: int, number: int) -> None:
    end = one.end_recorded()
    known = one.recorded().last_step
    if known < one.said:
        raise Broken(f"step {one.said} was finished, {known} is known")
    if end.signal is not None and code < 0 and end.signal != -code:
        raise Broken(f"signal {end.signal} is recorded, it was {-code}")
    verdict = one.story().verdict
    if code < 0 and verdict is not None and verdict.id not in VERDICTS[-code]:
        raise Broken(f"{signal.Signals(number).name} is called {verdict.id}")
    if code == 0 and verdict is not None and verdict.severity != "info":
        raise Broken(f"it ended well, and is called {verdict.headline}")


CHAMBER = Chamber(
    name="signals",
    promise="no finished step is lost, no end is told wrongly, nothing is left",
    round=torture,
    share=3.0,
)
