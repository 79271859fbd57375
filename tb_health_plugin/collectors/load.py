"""Load of the machine: tasks that run, want to run, or wait for a disk."""

from collections.abc import Mapping

from tb_health_plugin.collectors.collector import SourceUnavailable, Watched


class Load:
    """Reads `/proc/loadavg`, which tells of the machine inside a container too.

    Raises:
        SourceUnavailable: This is not Linux.
    """

    what = "load of the machine"
    columns = ("load_1min",)

    def __init__(self, watched: Watched) -> None:
        self._file = watched.root / "proc/loadavg"
        if not self._file.exists():
            raise SourceUnavailable("only Linux tells it, in /proc/loadavg")

    def collect(self) -> Mapping[str, float]:
        return parse_loadavg(self._file.read_text())


def parse_loadavg(text: str) -> dict[str, float]:
    """The first number is the mean of the last minute."""
    try:
        return {"load_1min": float(text.split()[0])}
    except (IndexError, ValueError):
        return {}


COLLECTOR = Load
