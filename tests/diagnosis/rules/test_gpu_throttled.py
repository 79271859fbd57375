"""Cards held back by heat or power, and cards that only say so."""

import pytest

from tb_health_plugin.diagnosis.rules.gpu_throttled import RULE
from tests.diagnosis.rules.histories import (
    ask,
    run_started,
    seconds_of,
    training_ended,
    training_started,
)

COUNT = 120


def run(*, bits: int, clock: float, held: int = 100, busy: float = 0.95, **more):
    """Full speed at first, then `held` seconds at this clock for these reasons."""
    free = COUNT - held
    columns = {
        "throttle_reasons": [0.0] * free + [float(bits)] * held,
        "sm_clock_hertz": [1.4e9] * free + [clock] * held,
        "sm_clock_max_hertz": [1.4e9] * COUNT,
        "busy_fraction": [busy] * COUNT,
        **more,
    }
    return ask(
        RULE,
        run_started(),
        training_started(),
        training_ended(COUNT, 600),
        samples={
            "wall_time": seconds_of(COUNT),
            "step": [5.0 * second for second in range(COUNT)],
            **{f"gpu0_{k}": v for k, v in columns.items() if v is not None},
        },
    )


@pytest.mark.parametrize("bits", [0x20, 0x40, 0x48, 0x24])
def test_heat(bits: int):
    found = run(
        bits=bits,
        clock=0.7e9,
        temperature_celsius=[60.0] * 20 + [92.0] * 100,
        slowdown_celsius=[92.0] * COUNT,
    )

    assert found.detail == "heat"
    assert found.headline == "GPU 0 overheated and ran at 50% of its highest clock"
    assert found.cause_at.step == 100
    texts = [one.text for one in found.evidence]
    assert "It was at up to 92 °C; its limit is 92 °C." in texts
    assert "GPU 0 ran at 700 of 1,400 MHz." in texts


@pytest.mark.parametrize("bits", [0x04, 0x80])
def test_power(bits: int):
    found = run(
        bits=bits,
        clock=0.6e9,
        power_watts=[250.0] * COUNT,
        power_limit_watts=[250.0] * COUNT,
    )

    assert found.detail == "power"
    assert "250 W; its limit is 250 W." in found.evidence[-1].text


def test_a_part_of_a_card_does_not_tell_how_busy_it_is():
    assert run(bits=0x20, clock=0.7e9, busy_fraction=None).detail == "heat"


def test_a_power_cap_at_full_load_is_everyday_life():
    assert run(bits=0x04, clock=1.1e9) is None


def test_heat_that_costs_little():
    assert run(bits=0x20, clock=1.3e9) is None


def test_an_idle_card_saves_power():
    assert run(bits=0x01, clock=0.2e9) is None
    assert run(bits=0x04, clock=0.2e9, busy=0.0) is None


def test_clocks_that_somebody_set():
    assert run(bits=0x02, clock=0.7e9) is None


def test_a_hot_moment():
    assert run(bits=0x20, clock=0.7e9, held=20) is None


def test_a_card_that_does_not_tell_its_highest_clock():
    assert run(bits=0x20, clock=0.7e9, sm_clock_max_hertz=None) is None


def test_a_card_that_gives_no_reasons():
    assert run(bits=0x20, clock=0.7e9, throttle_reasons=None) is None
