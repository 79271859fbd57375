"""Who will end this process, and when, as far as that is known as it starts.

A time limit ends a training with a signal like any other. Only the moment tells.
"""

import os
import resource
from collections.abc import Mapping
from pathlib import Path

from tb_health_plugin.collectors.kernel_files import read

# Between `timeout` and the program may be the launcher and a shell or two.
_MOST_ANCESTORS = 6
_UNITS = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
# Options of `timeout` whose value is a word of its own.
_WITH_VALUE = ("-k", "-s", "--kill-after", "--signal")
# Behind the name in /proc/<pid>/stat.
_PARENT, _START_TICKS = 1, 19


def limit_settings(
    environment: Mapping[str, str], *, now: float, root: Path = Path("/")
) -> dict[str, str]:
    """As settings of `facts.RunStarted`: `limit.*`. Empty without a limit.

    Args:
        environment: The variables of the process.
        now: Seconds since the epoch.
        root: Stands in for `/` in tests.
    """
    found = {}
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    if most != resource.RLIM_INFINITY:
        found["limit.cpu_seconds"] = str(most)
    ends = [_by_slurm(environment), _by_timeout(root / "proc", now)]
    known = [one for one in ends if one is not None]
    if known:
        at, who = min(known)
        found |= {"limit.ends_at": f"{at:.1f}", "limit.by": who}
    return found


def _by_slurm(environment: Mapping[str, str]) -> tuple[float, str] | None:
    """Slurm 22.05 and later say when the time of a job is up."""
    try:
        return float(environment["SLURM_JOB_END_TIME"]), "Slurm"
    except (KeyError, ValueError):
        return None


def _by_timeout(proc: Path, now: float) -> tuple[float, str] | None:
    """The program `timeout`, if it is among the ancestors."""
    pid = os.getpid()
    for _ in range(_MOST_ANCESTORS):
        stat = read(proc / str(pid) / "stat")
        fields = stat.rpartition(")")[2].split()
        if len(fields) <= _START_TICKS:
            return None
        if stat.partition("(")[2].rpartition(")")[0] == "timeout":
            words = read(proc / str(pid) / "cmdline").split("\0")
            seconds = duration_of(words[1:])
            started_at = _started_at(proc, int(fields[_START_TICKS]), now)
            if not seconds or started_at is None:
                return None
            return started_at + seconds, f"timeout {seconds:g}"
        pid = int(fields[_PARENT])
    return None


def duration_of(words: list[str]) -> float | None:
    """The seconds that `timeout` was given; None without a limit.

    Args:
        words: Its arguments. What stands behind the duration is never looked at.
    """
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in _WITH_VALUE else 1
    word = words[at] if at < len(words) else ""
    number, unit = (word[:-1], word[-1]) if word[-1:] in _UNITS else (word, "s")
    try:
        return float(number) * _UNITS[unit] or None
    except ValueError:
        return None


def _started_at(proc: Path, ticks: int, now: float) -> float | None:
    uptime = read(proc / "uptime").split()
    if not uptime:
        return None
    return now - float(uptime[0]) + ticks / os.sysconf("SC_CLK_TCK")
