"""Bytes and errors of the network, as far as the trainer's machine or container sees.

What passes a bridge or a tunnel is counted at each interface on its way.
"""

from collections.abc import Mapping

from tb_health_plugin.collectors.collector import SourceUnavailable, Watched
from tb_health_plugin.collectors.rising import Rising

# Columns of /proc/net/dev behind the name of the interface.
_RECEIVED_BYTES, _SENT_BYTES = 0, 8
# Errors and drops, in and out.
_ERRORS = (2, 3, 10, 11)
_LOOPBACK = "lo"


class Network:
    """Reads `/proc/net/dev`. Interfaces come and go; totals do not fall with them.

    Raises:
        SourceUnavailable: This is not Linux, or there is no network.
    """

    what = "network throughput"
    columns = ("network_received_bytes", "network_sent_bytes", "network_errors")

    def __init__(self, watched: Watched) -> None:
        self._file = watched.root / "proc/net/dev"
        if not self._file.exists():
            raise SourceUnavailable("only Linux counts it, in /proc/net/dev")
        self._totals = {name: Rising() for name in self.columns}

    def collect(self) -> Mapping[str, float]:
        numbers = parse_net_dev(self._file.read_text())
        return {name: self._totals[name](number) for name, number in numbers.items()}


def parse_net_dev(text: str) -> dict[str, float]:
    """Sums over all interfaces but loopback; empty if there are none."""
    interfaces = []
    for line in text.splitlines():
        name, colon, rest = line.partition(":")
        fields = rest.split()
        if not colon or name.strip() == _LOOPBACK or len(fields) <= max(_ERRORS):
            continue
        if all(field.isdecimal() for field in fields):
            interfaces.append([int(field) for field in fields])
    if not interfaces:
        return {}
    return {
        "network_received_bytes": float(sum(i[_RECEIVED_BYTES] for i in interfaces)),
        "network_sent_bytes": float(sum(i[_SENT_BYTES] for i in interfaces)),
        "network_errors": float(sum(i[f] for i in interfaces for f in _ERRORS)),
    }


COLLECTOR = Network
