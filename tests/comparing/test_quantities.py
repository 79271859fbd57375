"""Numbers read the same here and on the page."""

import math

import pytest

from tb_health_plugin.comparing import quantities


@pytest.mark.parametrize(
    ("unit", "value", "text"),
    [
        ("bytes", 5.2 * 2**30, "5.2 GiB"),
        ("bytes", -24 * 2.0**20, "-24 MiB"),
        ("bytes", 0.0, "0 B"),
        ("fraction", 0.714, "71%"),
        ("seconds", 0.0123, "12.3 ms"),
        ("seconds", 45.0, "45 s"),
        ("seconds", 7_500.0, "2 h 5 min"),
        ("per_second", 408.0, "408/s"),
        ("celsius", 61.4, "61 °C"),
        ("count", 1.23, "1.23"),
        ("number", 1_234.5, "1,234"),
        ("number", 2e9, "2e9"),
        ("number", 0.00012, "1.2e-4"),
        ("number", math.nan, "NaN"),
        ("bytes", -math.inf, "-Inf"),
    ],
)
def test_a_number_with_its_unit(unit: str, value: float, text: str):
    assert quantities.quantity(unit, value) == text


def test_a_factor():
    assert [quantities.times(r) for r in (1.26, 14.2, 1234.0)] == [
        "1.3x",
        "14x",
        "1,200x",
    ]


def test_a_place_in_time_is_told_to_the_second_within_an_hour():
    assert [quantities.stretch(s) for s in (47.2, 407.0, 120.0, 7_500.0)] == [
        "47 s",
        "6 min 47 s",
        "2 min",
        "2 h 5 min",
    ]
