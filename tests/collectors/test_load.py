"""Load of the machine."""

import pytest

from tb_health_plugin.collectors.collector import SourceUnavailable
from tb_health_plugin.collectors.load import Load, parse_loadavg


def test_the_mean_of_the_last_minute(machine):
    watched = machine({"proc/loadavg": "2.36 2.51 1.71 3/281 24622\n"})

    assert Load(watched).collect() == {"load_1min": 2.36}


@pytest.mark.parametrize("text", ["", "\n", "much\n"])
def test_malformed_text_is_left_out(text: str):
    assert parse_loadavg(text) == {}


def test_no_linux_is_no_error(machine):
    with pytest.raises(SourceUnavailable, match="loadavg"):
        Load(machine({}))
