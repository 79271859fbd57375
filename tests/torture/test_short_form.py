"""A few rounds of every chamber, the same ones each time."""

import pytest

from tests.torture import (
    cruel_disks,
    damaged_files,
    hostile_requests,
    hostile_values,
    jumping_clocks,
    many_trainings,
    server_storm,
    signal_storm,
)
from tests.torture.chamber import Broken, Chamber, torment


@pytest.mark.parametrize(
    ("chamber", "rounds"),
    [
        (damaged_files.CHAMBER, 40),
        (hostile_values.CHAMBER, 10),
        (hostile_requests.CHAMBER, 6),
        pytest.param(signal_storm.CHAMBER, 8, marks=pytest.mark.live),
        pytest.param(cruel_disks.CHAMBER, 6, marks=pytest.mark.live),
        pytest.param(jumping_clocks.CHAMBER, 3, marks=pytest.mark.live),
        pytest.param(server_storm.CHAMBER, 1, marks=pytest.mark.live),
        pytest.param(many_trainings.CHAMBER, 1, marks=pytest.mark.live),
    ],
    ids=lambda one: one.name if isinstance(one, Chamber) else "",
)
def test_nothing_breaks(chamber: Chamber, rounds: int):
    tally = torment(chamber, seed=0, rounds=rounds)

    assert tally.broken == []
    assert tally.rounds == rounds
    assert sum(tally.counts.values()) >= rounds


def test_a_promise_that_breaks_is_told_with_its_seed():
    def careless(rng, counts):
        raise Broken("a step was lost")

    tally = torment(Chamber(name="x", promise="", round=careless), seed=7, rounds=2)

    assert tally.failures == 2
    assert tally.broken == ["seed 7: a step was lost", "seed 8: a step was lost"]
