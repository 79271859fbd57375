"""A long history in bounded size: what it keeps, and that it is always the same."""

import math

import numpy as np
import pytest

from tb_health_plugin.events import facts
from tb_health_plugin.reading import digest
from tb_health_plugin.reading.digest import bounded
from tb_health_plugin.reading.run_history import Attempt
from tb_health_plugin.reading.table import measured
from tests import runs


def samples(begin: int, end: int) -> dict[str, np.ndarray]:
    second = np.arange(begin, end, dtype=float)
    return {"wall_time": second, "step": 3 * second, "fds": 100 + second % 7}


def attempt_of(rows: int) -> Attempt:
    attempt = Attempt("a")
    attempt.samples.append(samples(0, rows))
    return attempt


def spent(number: int, training: int = 0) -> facts.TimeSpent:
    return facts.TimeSpent(
        wall_time=5.0 * number,
        step=10 * number,
        training=training,
        since=5.0 * (number - 1),
        seconds=5.0,
        steps=10,
        wait_seconds=1.0,
        callback_seconds={"Save": 0.5},
        python_objects=1_000 + number,
    )


def same(a: Attempt, b: Attempt) -> bool:
    columns = all(
        np.array_equal(a.samples.column(n), b.samples.column(n), equal_nan=True)
        for n in a.samples.names
    )
    return columns and list(a.everything()) == list(b.everything())


@pytest.mark.parametrize("name", runs.names())
def test_a_short_run_is_left_as_it_is(name: str):
    attempt = runs.attempt(name)

    assert bounded(attempt) is attempt


class TestSamples:
    @pytest.mark.parametrize("rows", [3_000, 50_000, 604_800])
    def test_there_are_never_too_many(self, rows: int):
        small = bounded(attempt_of(rows)).samples

        assert len(small) < digest.MOST_GROUPS + 2 * digest.NEWEST_ROWS

    def test_the_newest_are_as_they_were(self):
        small = bounded(attempt_of(20_000)).samples

        newest = small.column("wall_time")[-digest.NEWEST_ROWS :]
        assert newest.tolist() == [float(t) for t in range(19_400, 20_000)]

    def test_rows_stay_in_order_and_counters_true(self):
        small = bounded(attempt_of(20_000)).samples

        time = small.column("wall_time")
        assert bool((np.diff(time) > 0).all())
        assert small.column("step").tolist() == (3 * time).tolist()

    def test_what_is_measured_rarely_is_not_lost(self):
        attempt = attempt_of(20_000)
        rare = np.full(20_000, digest.NOT_MEASURED)
        rare[1::30] = 7.0
        other = Attempt("b")
        other.samples.append({**samples(0, 20_000), "rare": rare})

        small = bounded(other).samples

        known = measured(small.column("rare"))
        assert known.sum() > len(small) // 10
        assert set(small.column("rare")[known].tolist()) == {7.0}
        assert bounded(attempt).samples.has("rare") is False

    def test_grown_in_steps_it_is_the_same_as_read_at_once(self):
        growing = Attempt("a")
        for begin in range(0, 12_000, 700):
            growing.samples.append(samples(begin, min(begin + 700, 12_000)))
            bounded(growing)

        assert same(bounded(growing), bounded(attempt_of(12_000)))


class TestTimeSpent:
    def long(self, count: int) -> Attempt:
        attempt = Attempt("a")
        for number in range(1, count + 1):
            attempt.add(spent(number, training=0 if number <= count // 3 else 1))
        return attempt

    def test_sums_stay_what_they_are(self):
        attempt = self.long(5_000)

        found = bounded(attempt).all(facts.TimeSpent)

        assert len(found) < digest.MOST_STRETCHES + 2 * digest.NEWEST_STRETCHES
        assert sum(one.steps or 0 for one in found) == 50_000
        assert math.fsum(one.wait_seconds or 0 for one in found) == 5_000.0
        assert math.fsum(one.callback_seconds["Save"] for one in found) == 2_500.0
        assert found[-1] == attempt.all(facts.TimeSpent)[-1]

    def test_trainings_are_not_mixed(self):
        found = bounded(self.long(5_000)).all(facts.TimeSpent)

        steps = {t: sum(o.steps or 0 for o in found if o.training == t) for t in (0, 1)}
        assert steps == {0: 16_660, 1: 33_340}

    def test_grown_in_steps_it_is_the_same_as_read_at_once(self):
        growing, whole = Attempt("a"), Attempt("b")
        for number in range(1, 4_000):
            growing.add(spent(number))
            whole.add(spent(number))
            if number % 333 == 0:
                bounded(growing)

        assert same(bounded(growing), bounded(whole))


class TestLooks:
    def test_the_first_and_the_last_are_kept(self):
        attempt = Attempt("a")
        for step in range(5_000):
            attempt.add(facts.Inspected(wall_time=float(step), step=step))

        steps = [one.step for one in bounded(attempt).all(facts.Inspected)]

        first, middle, last = digest.THINNED[facts.Inspected]
        assert len(steps) <= first + middle + last
        assert steps[:first] == list(range(first))
        assert steps[-last:] == list(range(5_000 - last, 5_000))
        assert steps == sorted(steps)

    def test_an_odd_batch_is_never_thinned_out(self):
        attempt = Attempt("a")
        odd = {1_717: {"nonfinite_count": 1}, 2_323: {"maximum": 99.0}}
        for step in range(4_000):
            numbers = {"minimum": 0.0, "maximum": 9.0, **odd.get(step, {})}
            field = facts.Field(name="y", role="target", **numbers)
            attempt.add(
                facts.BatchSeen(wall_time=float(step), step=step, fields=(field,))
            )

        found = bounded(attempt).all(facts.BatchSeen)

        assert len(found) <= sum(digest.THINNED[facts.BatchSeen]) + len(odd)
        assert set(odd) <= {one.step for one in found}
