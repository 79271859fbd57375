"""How wide a model has to be for steps of a wanted length."""

import pytest

from bench.step_length import ENOUGH, width_for


@pytest.mark.parametrize("ms_per_width", [1.0, 0.1, 0.02])
def test_widens_until_steps_are_long_enough(ms_per_width: float):
    tried = []

    def step_ms(width: int) -> float:
        tried.append(width)
        return width * ms_per_width

    width, took = width_for(1.0, 32, step_ms)

    assert took == width * ms_per_width >= ENOUGH
    assert width == tried[-1]
    assert all(one * ms_per_width < ENOUGH for one in tried[:-1])


def test_gives_up_where_width_makes_no_difference():
    width, took = width_for(50.0, 32, lambda _: 1.0)

    assert (width > 32, took) == (True, 1.0)
