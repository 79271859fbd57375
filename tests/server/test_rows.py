"""A line of the list of runs, from what was recorded."""

import pytest

from tb_health_plugin.events import facts
from tb_health_plugin.reading.run_history import Attempt
from tb_health_plugin.server.rows import _epoch_now


def attempt(*, last_step: int, has_ended: bool, epochs: list[float]) -> Attempt:
    made = Attempt("a")
    made.samples.append(
        {
            "wall_time": [float(n) for n in range(len(epochs))],
            "step": [last_step * (n + 1) / len(epochs) for n in range(len(epochs))],
            "epoch": epochs,
        }
    )
    for number in range(2):
        made.add(
            facts.EpochEnded(
                wall_time=number + 0.5,
                step=10 * (number + 1),
                training=0,
                epoch=number,
                first_step=10 * number,
                last_step=10 * (number + 1),
            )
        )
    if has_ended:
        made.add(facts.TrainingEnded(wall_time=9.0, step=last_step, training=0))
    return made


@pytest.mark.parametrize(
    ("last_step", "has_ended", "epoch"),
    [
        # The loop told that its second epoch ended, and then it was over.
        (20, True, 2),
        # It goes on.
        (20, False, 3),
        (24, True, 3),
    ],
)
def test_the_epoch_of_a_loop_is_the_last_one_that_had_a_step(
    last_step: int, has_ended: bool, epoch: int
):
    made = attempt(last_step=last_step, has_ended=has_ended, epochs=[0.0, 1.0, 2.0])

    assert _epoch_now(made) == epoch
