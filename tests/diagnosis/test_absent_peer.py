"""A worker that waits for others before its training begins."""

import signal
from collections.abc import Sequence

import numpy as np

from tb_health_plugin.diagnosis.story import tell
from tb_health_plugin.diagnosis.verdict import Story
from tb_health_plugin.events import facts
from tb_health_plugin.reading.liveness import Life
from tb_health_plugin.reading.run_history import Attempt

ALIVE = Life(alive=True, because="Process 7 is running.")
GONE = Life(alive=False, because="Process 7 is gone.")
TWO = "task worker 0, cluster worker 2"
IDLE = [4.0 + 0.01 * n for n in range(30)]
BUSY = [1.0 * n for n in range(30)]


def story(
    cpu: Sequence[float],
    *told: facts.Fact,
    config: str | None = TWO,
    life: Life = GONE,
) -> Story:
    attempt = Attempt("a")
    attempt.samples.append(
        {
            "wall_time": np.asarray([100.0 + n for n in range(len(cpu))]),
            "tree_cpu_seconds": np.asarray(cpu),
        }
    )
    settings = {"env.TF_CONFIG": config} if config else {}
    attempt.add(facts.RunStarted(wall_time=99.0, pid=7, settings=settings))
    for fact in told:
        attempt.add(fact)
    return tell(attempt, life)


def killed(number: int = signal.SIGKILL) -> facts.ProcessEnded:
    return facts.ProcessEnded(wall_time=130.0, signal=int(number))


def test_killed_while_it_waited():
    told = story(IDLE, killed())

    assert (told.state, told.verdict.id) == ("died", "peer_lost")
    assert (told.verdict.detail, told.verdict.confidence) == ("absent", "possible")
    assert told.headline == (
        "Probably waited 31 seconds for another worker, then was killed"
    )


def test_while_it_waits():
    assert story(IDLE, life=ALIVE).state == "stuck"


def test_one_that_loads_is_not_waiting():
    assert story(BUSY, life=ALIVE).state == "running"
    assert story(BUSY, killed()).verdict.id == "killed_outside"


def test_one_alone_waits_for_nobody():
    assert story(IDLE, life=ALIVE, config=None).state == "running"
    assert story(
        IDLE, killed(), config="task worker 0, cluster worker 1"
    ).verdict.id == ("killed_outside")


def test_a_young_process_is_not_judged():
    assert story(IDLE[:5], life=ALIVE).state == "running"


def test_once_it_trains_it_is_not_waiting():
    begun = facts.TrainingStarted(wall_time=110.0, training=0, planned_epochs=1)

    assert story(IDLE, begun, life=ALIVE).state == "running"
