"""A trend is told, and nothing else is taken for one."""

import math
import random
from collections.abc import Callable

import pytest

from tb_health_plugin.watching.forecast import Estimate, Forecast

LIMIT = 16_000.0


def follow(
    value_at: Callable[[int], float], *, seconds: int = 1_200
) -> list[tuple[int, Estimate]]:
    """What is told about a quantity sampled once a second."""
    forecast = Forecast("memory")
    told = []
    for second in range(seconds):
        estimate = forecast.add(float(second), value_at(second), LIMIT)
        if estimate is not None:
            told.append((second, estimate))
    return told


def noise(width: float) -> float:
    return NOISE.uniform(-width, width)


NOISE = random.Random(3)


class TestAStraightLine:
    def test_it_is_told_with_the_time_that_is_left(self):
        (second, estimate), *_ = follow(lambda s: 1_000 + 5.0 * s)

        value = 1_000 + 5.0 * second
        assert estimate.seconds == pytest.approx((LIMIT - value) / 5.0, rel=0.01)
        assert estimate.per_second == pytest.approx(5.0)

    def test_it_is_told_once_while_it_stays_true(self):
        assert len(follow(lambda s: 1_000 + 5.0 * s)) == 1

    def test_noise_widens_the_range_but_does_not_hide_it(self):
        (_, estimate), *_ = follow(lambda s: 1_000 + 5.0 * s + noise(100))

        assert estimate.earliest_seconds < estimate.seconds < estimate.latest_seconds

    def test_a_pace_that_changes_is_told_again(self):
        told = follow(
            lambda s: 1_000 + 2.0 * s if s < 600 else 2_200 + 8.0 * (s - 600),
            seconds=1_500,
        )

        assert len(told) >= 2
        assert told[-1][1].seconds < told[0][1].seconds

    def test_it_goes_away_when_the_growth_ends(self):
        forecast = Forecast("memory")
        for second in range(600):
            forecast.add(float(second), 1_000 + 5.0 * second, LIMIT)
        later = [
            forecast.add(float(second), 4_000.0, LIMIT) for second in range(600, 1_200)
        ]

        assert not any(later[-300:])


class TestSilence:
    @pytest.mark.parametrize(
        "value_at",
        [
            lambda s: 5_000.0,
            lambda s: 5_000 + noise(500),
            lambda s: min(8_000, 1_000 + 40.0 * s),
            lambda s: 5_000 + 1_000 * math.sin(s / 60),
            lambda s: 5_000 + 10.0 * (s % 100),
            lambda s: 9_000 - 5.0 * s,
            lambda s: 1_000.0 if s < 700 else 7_000.0,
            lambda s: 1_000 + 0.05 * s,
            lambda s: 6_000 * (1 - math.exp(-s / 150)),
        ],
        ids=[
            "flat",
            "noise",
            "fills a cache and stays",
            "goes up and down",
            "garbage collected",
            "falls",
            "one step up",
            "slower than anyone will wait",
            "saturates",
        ],
    )
    def test_what_is_no_trend_is_not_told(self, value_at: Callable[[int], float]):
        assert follow(value_at) == []

    def test_a_young_run_is_given_time(self):
        assert follow(lambda s: 1_000 + 50.0 * s, seconds=250) == []

    def test_a_pause_in_the_samples_is_no_line(self):
        forecast = Forecast("memory")
        seconds = [*range(100), *range(250, 400)]

        told = [forecast.add(float(s), 1_000 + 5.0 * s, LIMIT) for s in seconds]

        assert not any(told)
