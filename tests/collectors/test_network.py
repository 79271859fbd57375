"""Throughput and errors of the network."""

import pytest

from tb_health_plugin.collectors.collector import SourceUnavailable
from tb_health_plugin.collectors.network import Network, parse_net_dev

HEAD = """\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs
"""
LO = "    lo: 129598218 27455 0 0 0 0 0 0 129598218 27455 0 0 0 0 0 0\n"
ETH0 = "  eth0: 1000 40 1 2 0 0 0 0 200 26 3 4 0 0 0 0\n"
# Old kernels leave no room between name and number.
ETH1 = "  eth1:5000 40 0 0 0 0 0 0 300 26 0 0 0 0 0 0\n"


def test_all_interfaces_but_loopback():
    assert parse_net_dev(HEAD + LO + ETH0 + ETH1) == {
        "network_received_bytes": 6000.0,
        "network_sent_bytes": 500.0,
        "network_errors": 10.0,
    }


def test_an_interface_that_goes_takes_nothing_away(machine):
    collector = Network(machine({"proc/net/dev": HEAD + ETH0 + ETH1}))
    collector.collect()
    machine({"proc/net/dev": HEAD + ETH0})

    later = [collector.collect()["network_received_bytes"] for _ in range(3)]

    assert later == [6000.0] * 3


@pytest.mark.parametrize("text", ["", HEAD, HEAD + LO, "eth0:\n", "eth0: 1 x\n"])
def test_nothing_to_count_is_not_zero(text: str):
    assert parse_net_dev(text) == {}


def test_no_linux_is_no_error(machine):
    with pytest.raises(SourceUnavailable, match="/proc/net/dev"):
        Network(machine({}))
