"""How long does judging take, of a finished day of training and of one that goes on?"""

import statistics
import time

from bench.long_run import BEGAN, DAY, STEPS, long_run, samples
from bench.measuring import Result
from tb_health_plugin.diagnosis.engine import judge
from tb_health_plugin.diagnosis.live import LiveJudge
from tb_health_plugin.events import facts
from tb_health_plugin.reading.liveness import Life

LIVES = Life(alive=True, because="It is made up.")
GONE = Life(alive=False, because="It is made up.")
# One sample a second, a stretch of time spent every five.
UPDATES = 300
HOUR = 3_600


def ask(rounds: int) -> list[Result]:
    finished = [_finished() for _ in range(rounds)]
    live = {
        f"live update after {hours:,} h, {word}": value
        for hours in (1, 6, 23)
        for word, value in _live(hours * HOUR).items()
    }
    return [
        Result(
            f"Judging a day of training ({DAY:,} samples, {STEPS:,} steps, 50 layers)",
            "CPU ms (median)",
            {
                "finished, first time": statistics.median(f for f, _ in finished),
                "finished, again": statistics.median(a for _, a in finished),
                **live,
            },
            {},
        )
    ]


def _finished() -> tuple[float, float]:
    attempt = long_run()
    first = _milliseconds(lambda: judge(attempt, GONE))
    return first, _milliseconds(lambda: judge(attempt, GONE))


def _live(seconds: int) -> dict[str, float]:
    attempt, judging = long_run(seconds), LiveJudge()
    judging.look(attempt, LIVES)
    took = []
    for second in range(seconds, seconds + UPDATES):
        attempt.samples.append(samples(second, second + 1))
        if second % 5 == 0:
            attempt.add(_stretch(second))
        took.append(_milliseconds(lambda: judging.look(attempt, LIVES)))
    return {"mean": statistics.mean(took), "median": statistics.median(took)}


def _stretch(second: int) -> facts.TimeSpent:
    return facts.TimeSpent(
        wall_time=BEGAN + second,
        step=second * STEPS // DAY,
        training=0,
        seconds=5.0,
        steps=57,
        wait_seconds=0.05,
        step_seconds=4.8,
    )


def _milliseconds(call: object) -> float:
    assert callable(call)
    began = time.process_time()
    call()
    return (time.process_time() - began) * 1e3
