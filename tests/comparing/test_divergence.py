"""The first difference: found where it is, and not found where there is none."""

import numpy as np
import pytest

from tb_health_plugin.comparing.divergence import (
    Divergence,
    Measure,
    comparable,
    first_divergence,
)
from tb_health_plugin.comparing.grid import Series
from tests.comparing.runs import noise

# A quarter more or less matters.
QUARTER = Measure(lambda a, b: 0.25 * np.abs(b))
LOSS = Measure(lambda a, b: np.maximum(0.2 * np.abs(b), 0.1 * np.ptp(b)), log=True)

# Pairs of runs for each length. Of 1,200 others per length, with noise that remembers
# ten samples, at most 7 were told to differ.
PAIRS = 120
LENGTHS = (12, 25, 40, 150, 600)


def series(values: np.ndarray, every: float = 1.0) -> Series:
    return Series(np.arange(len(values)) * every, values)


def level(seed: int, steps: int = 600, *, calm: float = 0.0) -> np.ndarray:
    return 100 * (1 + 0.1 * noise(seed, steps, calm=calm))


def divergence(a: np.ndarray, b: np.ndarray) -> Divergence | None:
    return first_divergence(series(a), series(b), QUARTER)


class TestRunsThatDoTheSame:
    """Equal runs with other noise: less than one pair in a hundred may differ."""

    @pytest.mark.parametrize(
        ("kind", "lengths"),
        [
            ("white", LENGTHS),
            ("autocorrelated", LENGTHS),
            ("slowly_wandering", (600, 1_000)),
            ("heavy_tails", LENGTHS),
            ("bursts", LENGTHS),
            ("falling_loss", LENGTHS),
        ],
    )
    def test_are_alike(self, kind: str, lengths: tuple[int, ...]):
        told = [
            self.differ(kind, steps, number)
            for steps in lengths
            for number in range(PAIRS)
        ]

        assert sum(told) / len(told) < 0.01

    def differ(self, kind: str, steps: int, number: int) -> bool:
        """Compares a pair whose lengths and rates of sampling differ, too."""
        rng = np.random.default_rng([steps, number])
        other = max(8, int(steps * rng.uniform(0.7, 1.5)))
        a, b = (
            self.made(kind, 2 * number, steps),
            self.made(kind, 2 * number + 1, other),
        )
        measure, every = QUARTER, float(rng.choice([0.5, 1.0, 1.7]))
        if kind == "falling_loss":
            measure, every = LOSS, steps / other
        return first_divergence(series(a), series(b, every), measure) is not None

    @staticmethod
    def made(kind: str, seed: int, steps: int) -> np.ndarray:
        rng = np.random.default_rng(seed)
        if kind == "white":
            return 100 * (1 + 0.2 * noise(seed, steps))
        if kind == "autocorrelated":
            return 100 * (1 + 0.15 * noise(seed, steps, calm=0.9))
        if kind == "slowly_wandering":
            return 100 * (1 + 0.15 * noise(seed, steps, calm=0.97))
        if kind == "heavy_tails":
            return 100 * (1 + 0.1 * rng.standard_t(2, size=steps))
        if kind == "bursts":
            return np.where(rng.random(steps) < 0.05, rng.exponential(1e8, steps), 0.0)
        course = 0.1 + 2.2 * np.exp(-6 * np.linspace(0, 1, steps))
        return course * np.exp(0.2 * noise(seed, steps, calm=0.5))

    def test_a_shift_in_time_of_a_wandering_signal_is_no_difference(self):
        wave = 100 * (1 + 0.1 * np.sin(np.arange(600) / 20))

        assert divergence(wave, np.roll(wave, 30)) is None

    def test_one_wild_sample_is_no_difference(self):
        wild = level(1)
        wild[300] = 1e9

        assert divergence(wild, level(2)) is None

    def test_a_level_within_what_matters_is_no_difference(self):
        assert divergence(1.1 * level(1), level(2)) is None


class TestRunsThatPart:
    @pytest.mark.parametrize("at", [0.2, 0.5, 0.9])
    @pytest.mark.parametrize("steps", [300, 3_000, 86_400])
    def test_a_step_is_found_where_it_is(self, steps: int, at: float):
        a = level(1, steps)
        a[int(at * steps) :] *= 2

        found = divergence(a, level(2, steps))

        assert found is not None
        assert found.begins == pytest.approx(at * steps, abs=0.02 * steps)
        assert (found.higher, found.ends, found.from_start) == (True, None, False)

    def test_a_slope_is_found_where_it_begins(self):
        a = level(1)
        a[300:] += np.arange(300)

        found = divergence(a, level(2))

        assert found is not None
        assert found.begins == pytest.approx(300, abs=25)

    def test_the_last_minutes_of_a_day_are_looked_at_closely(self):
        steps = 86_400
        a = level(1, steps)
        a[-500:] *= 3

        found = divergence(a, level(2, steps))

        assert found is not None
        assert found.begins == pytest.approx(steps - 500, abs=30)

    def test_a_wild_run_hides_nothing_whichever_side_it_is_on(self):
        wild = 300 * (1 + 0.25 * noise(1))
        calm = 100 * (1 + 0.02 * noise(2))

        one, other = divergence(wild, calm), divergence(calm, wild)

        assert one is not None
        assert other is not None
        assert (one.higher, other.higher) == (True, False)

    def test_it_may_be_lower(self):
        a = level(1)
        a[300:] /= 3

        found = divergence(a, level(2))

        assert found is not None
        assert not found.higher

    def test_what_was_there_from_the_first_step_is_told_so(self):
        found = divergence(3 * level(1), level(2))

        assert found is not None
        assert found.from_start

    def test_what_grows_from_the_first_step_is_told_so(self):
        found = divergence(level(1) + np.arange(600.0), level(2))

        assert found is not None
        assert found.begins < 60

    def test_a_later_change_is_the_better_story_than_a_small_offset(self):
        a = 1.4 * level(1, calm=0.0)
        a[400:] += 300

        found = divergence(a, level(2))

        assert found is not None
        assert not found.from_start
        assert found.begins == pytest.approx(400, abs=15)

    def test_a_difference_that_goes_away_has_an_end(self):
        a = level(1)
        a[200:320] *= 4

        found = divergence(a, level(2))

        assert found is not None
        assert found.ends is not None
        assert (found.begins, found.ends) == pytest.approx((200, 320), abs=25)

    def test_only_the_part_that_both_have_counts(self):
        a = level(1, 2_000)
        a[1_000:] *= 5

        assert divergence(a, level(2, 900)) is None

    def test_a_hole_in_one_run_hides_nothing(self):
        a = level(1)
        a[400:] *= 2
        kept = np.r_[0:100, 250:600]

        found = first_divergence(
            Series(kept.astype(float), a[kept]), series(level(2)), QUARTER
        )

        assert found is not None
        assert found.begins == pytest.approx(400, abs=15)

    def test_a_run_without_any_noise_can_be_compared(self):
        a = np.full(600, 100.0)
        a[300:] = 200

        found = divergence(a, np.full(600, 100.0))

        assert found is not None
        assert found.begins == pytest.approx(300, abs=2)


class TestTooLittle:
    @pytest.mark.parametrize("steps", [0, 1, 5])
    def test_a_few_samples_are_not_compared(self, steps: int):
        few = series(100 * np.ones(steps))

        assert not comparable(few, series(level(2)))
        assert first_divergence(few, series(level(2)), QUARTER) is None

    def test_nor_are_runs_that_never_meet(self):
        early = series(level(1))
        late = Series(early.x + 10_000, early.y)

        assert not comparable(early, late)
        assert first_divergence(early, late, QUARTER) is None

    def test_nor_are_many_samples_of_a_single_step(self):
        stuck = Series(np.full(500, 3.0), level(1, 500))

        assert not comparable(stuck, series(level(2)))
