"""Heat, and CPUs that slow down for it."""

import pytest

from tb_health_plugin.collectors.collector import SourceUnavailable
from tb_health_plugin.collectors.temperature import Temperature, hottest_celsius

CPU = "sys/devices/system/cpu"


def test_the_hottest_sensor_and_all_throttling(machine):
    watched = machine(
        {
            "sys/class/thermal/thermal_zone0/temp": "45000\n",
            "sys/class/hwmon/hwmon1/temp1_input": "83500\n",
            "sys/class/hwmon/hwmon1/temp1_crit": "100000\n",
            f"{CPU}/cpu0/thermal_throttle/core_throttle_count": "3\n",
            f"{CPU}/cpu1/thermal_throttle/core_throttle_count": "4\n",
        }
    )

    assert Temperature(watched).collect() == {
        "temperature_celsius": 83.5,
        "cpu_throttle_count": 7.0,
    }


def test_sensors_alone_tell_nothing_of_throttling(machine):
    watched = machine({"sys/class/thermal/thermal_zone0/temp": "45000\n"})

    assert Temperature(watched).collect() == {"temperature_celsius": 45.0}


def test_throttling_alone_tells_nothing_of_heat(machine):
    watched = machine({f"{CPU}/cpu0/thermal_throttle/core_throttle_count": "3\n"})

    assert Temperature(watched).collect() == {"cpu_throttle_count": 3.0}


@pytest.mark.parametrize("broken", [-273_150, -40_000, 200_000, 65_261_850])
def test_a_sensor_that_is_not_connected_does_not_count(broken: int):
    assert hottest_celsius([broken]) is None
    assert hottest_celsius([broken, 45_000]) == 45.0


@pytest.mark.parametrize("text", ["", "N/A\n"])
def test_a_sensor_that_does_not_answer_is_left_out(machine, text: str):
    watched = machine({"sys/class/thermal/thermal_zone0/temp": text})

    assert Temperature(watched).collect() == {}


def test_asked_rarely(machine):
    collector = Temperature(machine({"sys/class/thermal/thermal_zone0/temp": "1\n"}))

    asked = [bool(collector.collect()) for _ in range(11)]

    assert asked == [True, *[False] * 9, True]


def test_a_machine_without_thermometers_is_no_error(machine):
    with pytest.raises(SourceUnavailable, match="no thermometers"):
        Temperature(machine({}))
