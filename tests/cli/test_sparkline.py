"""Numbers as bars."""

import math

from tb_health_plugin.cli.sparkline import BARS, PLAIN_BARS, sparkline


def test_from_the_lowest_to_the_highest():
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7]) == BARS
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7], plain=True) == PLAIN_BARS


def test_gaps_and_bad_numbers_are_seen():
    assert sparkline([1, None, math.nan, math.inf, 2]) == "▁ !!█"


def test_what_never_changes_lies_low():
    assert sparkline([5, 5, 5]) == "▁▁▁"
    assert sparkline([]) == ""


def test_a_given_range_counts():
    assert sparkline([5, 50], low=0, high=10) == "▅█"
