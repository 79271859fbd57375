"""What rises all the time is told from what varies or rises once."""

import numpy as np
import pytest

from tb_health_plugin.diagnosis.trends import rank_agreement, trend

X = np.arange(40.0)
LEAST_PART = 0.12


def rises(y):
    line = trend(X[: len(y)], np.asarray(y, float))
    return line is not None and line.rises_throughout(LEAST_PART)


def test_a_line_is_found_exactly():
    line = trend(X, 5.0 + 2.0 * X)

    assert line is not None
    assert line.slope == pytest.approx(2.0)
    assert line.start == pytest.approx(5.0)
    assert line.change == pytest.approx(78.0)
    assert sum(line.shares) == pytest.approx(1.0)


def test_a_few_wild_points_do_not_bend_it():
    y = 2.0 * X
    y[[5, 17, 30]] = 1e6

    line = trend(X, y)

    assert line is not None
    assert line.slope == pytest.approx(2.0, rel=0.2)


def test_a_noisy_rise_is_a_rise():
    rng = np.random.default_rng(1)

    assert rises(X + 3 * rng.normal(size=40))


@pytest.mark.parametrize(
    "y",
    [
        np.zeros(40),
        -X,
        np.minimum(X, 8),
        np.where(X < 20, 0, 10),
        np.sin(X),
        1 - 0.8**X,
    ],
    ids=["flat", "falls", "levels off", "one jump", "waves", "saturates"],
)
def test_other_courses_are_none(y):
    assert not rises(y)


def test_noise_alone_hardly_ever_passes():
    rng = np.random.default_rng(2)

    passed = sum(rises(rng.normal(size=40)) for _ in range(1_000))

    assert passed == 0


def test_too_few_points():
    assert trend(X[:5], X[:5]) is None


def test_points_that_are_no_numbers_are_left_out():
    y = 2.0 * X
    y[3] = np.nan

    line = trend(X, y)

    assert line is not None
    assert line.slope == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (np.zeros(20), np.arange(20.0)),
        (X[::-1], X),
        (np.empty(0), np.empty(0)),
        (X, X[:3]),
        (np.full(20, np.nan), np.arange(20.0)),
    ],
    ids=["one moment", "backwards", "nothing", "unequal", "nan"],
)
def test_what_is_no_series(x, y):
    assert trend(x, y) is None


def test_a_long_series_is_cut_into_blocks():
    x = np.arange(100_000.0)

    line = trend(x, 3.0 * x)

    assert line is not None
    assert line.slope == pytest.approx(3.0)


def test_agreement_of_ranks():
    assert rank_agreement(X, X) == 1.0
    assert rank_agreement(X, -X) == -1.0
    assert rank_agreement(X, np.zeros(40)) == 0.0
    assert rank_agreement(X[:1], X[:1]) == 0.0
