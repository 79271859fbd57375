"""What is asked of an attempt, whatever it holds."""

import math

from tb_health_plugin.events import facts
from tb_health_plugin.reading.run_history import Attempt


def attempt(steps: list[float]) -> Attempt:
    made = Attempt("a")
    times = [float(moment) for moment in range(len(steps))]
    made.samples.append({"wall_time": times, "step": steps})
    made.add(facts.EpochEnded(wall_time=1.0, step=7))
    return made


def test_the_highest_step_that_anything_mentions():
    assert attempt([1.0, 5.0, 9.0]).last_step == 9
    assert attempt([1.0]).last_step == 7


def test_steps_that_were_not_measured_at_the_end():
    assert attempt([1.0, math.nan, math.nan]).last_step == 7


def test_as_it_was_known_at_a_moment():
    earlier = attempt([1.0, 5.0, 9.0]).until(0.5)

    assert len(earlier.samples) == 1
    assert earlier.all(facts.EpochEnded) == []
