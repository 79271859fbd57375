"""Cards held back by heat or power, and cards that only say so."""

import math

import pytest

from tb_health_plugin.diagnosis.rules.gpu_throttled import RULE
from tb_health_plugin.events import facts
from tests.diagnosis.rules.histories import (
    START,
    ask,
    run_started,
    seconds_of,
    training_ended,
    training_started,
)

COUNT = 120


def run(
    *,
    bits: int,
    clock: float,
    held: int = 100,
    busy: float = 0.95,
    steps=None,
    told=(),
    **more,
):
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
        *told,
        training_ended(COUNT, 600),
        samples={
            "wall_time": seconds_of(COUNT),
            "step": steps or [5.0 * second for second in range(COUNT)],
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


def test_what_it_cost_is_counted_in_steps_of_this_run():
    # 5 steps a second for 40 seconds, then 2 a second for 80.
    steps = [5.0 * second for second in range(40)]
    steps += [195.0 + 2.0 * second for second in range(1, 81)]

    found = run(bits=0x20, clock=0.7e9, held=80, steps=steps)

    texts = [one.text for one in found.evidence]
    assert "It cost about 240 steps, by the pace before." in texts


def test_a_cost_that_cannot_be_compared_is_not_told():
    found = run(bits=0x20, clock=0.7e9, held=110)

    assert not [one for one in found.evidence if "cost" in one.text]


class TestFallingClocks:
    def test_of_a_card_that_gives_no_reasons(self):
        found = run(bits=0, clock=0.7e9, held=80, throttle_reasons=None)

        assert (found.detail, found.confidence) == ("falling_clocks", "likely")
        assert found.headline == (
            "GPU 0 lowered its clocks and ran at 50% of the clock it had before"
        )

    def test_a_card_that_was_not_hot_is_not_to_be_cooled(self):
        cool = {"temperature_celsius": [60.0] * 120, "slowdown_celsius": [90.0] * 120}
        found = run(bits=0, clock=0.7e9, held=80, throttle_reasons=None, **cool)

        assert found.fixes[0].title == "Ask the driver what holds the clocks down"

    def test_clocks_that_come_and_go(self):
        wave = [1.4e9] * 40 + [0.7e9, 1.4e9] * 25 + [0.7e9] * 30

        assert run(bits=0, clock=0, throttle_reasons=None, sm_clock_hertz=wave) is None

    def test_too_little(self):
        assert run(bits=0, clock=1.1e9, held=80, throttle_reasons=None) is None

    def test_a_card_that_is_not_at_work(self):
        idle = [0.9] * 40 + [0.1] * 80
        found = run(
            bits=0, clock=0.7e9, held=80, throttle_reasons=None, busy_fraction=idle
        )

        assert found is None

    def test_low_from_the_beginning(self):
        low = [0.7e9] * COUNT
        found = run(bits=0, clock=0.7e9, throttle_reasons=None, sm_clock_hertz=low)

        assert found is None

    def test_a_card_that_gives_reasons_and_has_none(self):
        assert run(bits=0, clock=0.7e9, held=80) is None


class TestAnotherProcess:
    SLOWER = [5.0 * s for s in range(60)] + [295.0 + 2.0 * s for s in range(1, 61)]

    def busy(self, share: float, seconds: int = 60) -> list[float]:
        """Told every tenth second."""
        values = [math.nan] * COUNT
        for second in range(0, COUNT, 10):
            values[second] = share if second >= COUNT - seconds else 0.0
        return values

    def test_that_makes_steps_slower(self):
        found = shared(self.busy(0.5), self.SLOWER, OTHER)

        assert (found.detail, found.severity) == ("another_process", "warning")
        assert "python train.py (4711) took 50%" in found.evidence[0].text
        assert "2.5 times as long" in found.evidence[1].text
        assert found.cause_at.step == 297

    def test_that_costs_nothing_is_only_good_to_know(self):
        assert shared(self.busy(0.5), None, OTHER).severity == "info"

    def test_that_holds_memory_and_computes_nothing(self):
        assert shared(self.busy(0.0), self.SLOWER, OTHER) is None

    def test_that_computes_a_little(self):
        assert shared(self.busy(0.1), self.SLOWER) is None

    def test_that_comes_for_a_moment(self):
        assert shared(self.busy(0.9, seconds=20), self.SLOWER) is None

    def test_of_which_nothing_was_measured(self):
        assert shared([math.nan] * COUNT, self.SLOWER) is None


OTHER = facts.GpuShared(wall_time=START, gpu=0, pid=4711, name="python train.py")


def shared(others, steps=None, *more):
    return run(
        bits=0,
        clock=1.4e9,
        steps=steps,
        told=more,
        others_busy_fraction=others,
    )


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
