"""As many points as a screen can show, and no spike lost."""

import math

from hypothesis import given
from hypothesis import strategies as st

from tb_health_plugin.events.columns import NOT_MEASURED
from tb_health_plugin.reading.downsample import Points, downsample
from tb_health_plugin.reading.table import TIME, Table


def table(losses: list[float], *, times: list[float] | None = None) -> Table:
    made = Table()
    count = len(losses)
    made.append(
        {
            TIME: times or [float(index) for index in range(count)],
            "step": [10.0 * index for index in range(count)],
            "loss": losses,
        }
    )
    return made


def draw(source: Table, **changes) -> Points:
    options = {
        "axis": "time",
        "begin": -math.inf,
        "end": math.inf,
        "buckets": 100,
        "period_seconds": 1.0,
        **changes,
    }
    return downsample(source, ["loss"], **options)


def test_few_samples_are_shown_as_they_are():
    points = draw(table([1.0, 2.0, 3.0]))

    assert points.time == [0.0, 1.0, 2.0]
    assert points.step == [0, 10, 20]
    assert points.lines["loss"].mean == [1.0, 2.0, 3.0]
    assert not points.bucketed


def test_a_spike_stays_in_the_highest_and_the_lowest():
    losses = [1.0] * 1_000
    losses[333], losses[777] = 50.0, -50.0

    line = draw(table(losses), buckets=10).lines["loss"]

    assert max(line.high) == 50.0
    assert min(line.low) == -50.0
    assert len(line.mean) == 10


def test_a_pause_in_the_sampling_is_a_gap():
    points = draw(table([1.0, 2.0, 3.0], times=[0.0, 1.0, 60.0]))

    assert points.lines["loss"].mean == [1.0, 2.0, None, 3.0]
    assert points.time == [0.0, 1.0, 30.5, 60.0]
    assert points.step == [0, 10, 10, 20]


def test_nan_is_shown_and_missing_is_not_nan():
    line = draw(table([1.0, math.nan, 3.0])).lines["loss"]

    assert math.isnan(line.mean[1])


def test_samples_without_the_number_are_left_out():
    points = draw(table([1.0, NOT_MEASURED, 3.0]))

    assert points.time == [0.0, 2.0]


def test_a_range_of_steps_can_be_asked_for():
    points = draw(table([1.0, 2.0, 3.0, 4.0]), axis="step", begin=10, end=20)

    assert points.lines["loss"].mean == [2.0, 3.0]
    assert points.samples == 2


def test_a_clock_that_was_set_back_does_not_break_the_order():
    points = draw(table([1.0, 2.0, 3.0, 4.0], times=[10.0, 11.0, 5.0, 12.0]))

    assert points.time == [10.0, 11.0, 12.0]


def test_nothing_in_the_range_is_no_error():
    points = draw(table([1.0]), begin=50.0)

    assert points.time == []
    assert points.lines["loss"].mean == []


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32), min_size=1),
    st.integers(1, 20),
)
def test_whatever_the_size_the_extremes_stay(losses: list[float], buckets: int):
    points = draw(table(losses), buckets=buckets)

    line = points.lines["loss"]
    assert max(line.high) == max(losses)
    assert min(line.low) == min(losses)
    assert len(points.time) == min(buckets, len(losses))
    assert points.time == sorted(set(points.time))
