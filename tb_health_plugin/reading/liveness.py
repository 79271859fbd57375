"""Tells whether the process of an attempt still lives, where that can be known."""

import socket
from dataclasses import dataclass
from pathlib import Path

from tb_health_plugin.events import facts
from tb_health_plugin.reading.run_history import Attempt

_START_TICKS = 19
_BOOT_ID = "proc/sys/kernel/random/boot_id"

# A run elsewhere counts as alive until it missed this many samples in a row, but
# never sooner than this: shared file systems show new bytes late.
SILENT_PERIODS = 10
SILENT_SECONDS = 60.0
# A watcher writes about once a second until it has written the end. While it writes,
# a process that cannot be found is one of another container.
STILL_WRITING_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """Whether a process lives, and how that is known.

    Attributes:
        alive: It does, or is taken to do so.
        because: How we know, as a sentence.
        restarted_after_seconds: How long after the last sign of life its machine
            was started again; None if it was not, or nobody knows.
        watcher_gone: Its watcher has fallen silent as well, on this machine.
        end_due: It was not found, and its watcher may be about to write its end.
    """

    alive: bool
    because: str
    restarted_after_seconds: float | None = None
    watcher_gone: bool = False
    end_due: bool = False


def life_of(attempt: Attempt, now: float, *, root: Path = Path("/")) -> Life:
    """Asks this machine, and the freshness of the record where it cannot tell."""
    start = attempt.start
    alive = is_alive(start, root=root) if start else None
    silent = now - (attempt.last_seen_at or 0.0)
    if start is not None and alive is not None:
        watched = start.recorded_by == "watcher"
        patience = max(STILL_WRITING_SECONDS, SILENT_PERIODS * attempt.period_seconds)
        writes = watched and silent <= patience
        if not alive and writes and _is_zombie(start, root):
            because = f"Process {start.pid} has ended; how is being written."
            return Life(alive=False, because=because, end_due=True)
        if not alive and writes:
            because = "Its watcher still writes, and saw no end."
            return Life(alive=True, because=because, end_due=True)
        verb = "is running" if alive else "is gone"
        because = f"Process {start.pid} {verb}."
        return Life(alive=alive, because=because, watcher_gone=watched and not alive)
    restarted = _restarted_after(attempt, now, root) if start else None
    if restarted is not None:
        return Life(
            alive=False,
            because="Its machine was started again since.",
            restarted_after_seconds=restarted,
        )
    limit = max(SILENT_SECONDS, SILENT_PERIODS * attempt.period_seconds)
    limit += attempt.late_seconds
    return Life(
        alive=silent <= limit,
        because=f"Nothing was recorded for more than {limit:,.0f} seconds.",
    )


def _restarted_after(attempt: Attempt, now: float, root: Path) -> float | None:
    """Seconds from the last sign of life to the start of this machine.

    Only if the run was on a machine of this name that had another boot id. Another
    machine may have the same name; then it was not started again just after.
    """
    start = attempt.start
    boot, uptime = _read(root / _BOOT_ID), _read(root / "proc/uptime")
    if start is None or start.boot_id is None or boot is None or uptime is None:
        return None
    if start.host != socket.gethostname() or boot.strip() == start.boot_id:
        return None
    booted_at = now - float(uptime.split()[0])
    after = booted_at - (attempt.last_seen_at or 0.0)
    return after if after >= 0 else None


def is_alive(start: facts.RunStarted, *, root: Path = Path("/")) -> bool | None:
    """True or False if the process ran on this machine, since its last boot.

    None: it ran elsewhere, or this machine does not tell.
    """
    boot = _read(root / _BOOT_ID)
    if boot is None or start.boot_id is None or start.pid is None:
        return None
    if start.host not in (None, socket.gethostname()):
        # A container has its own name, and its own numbers for processes.
        return None
    if boot.strip() != start.boot_id:
        # Another machine, or this one before it was started again.
        return None
    return _state(start, root) not in ("", "Z", "X")


def _is_zombie(start: facts.RunStarted, root: Path) -> bool:
    return _state(start, root) in ("Z", "X")


def _state(start: facts.RunStarted, root: Path) -> str:
    """The kernel's letter for the process; empty if it is gone."""
    status = _read(root / f"proc/{start.pid}/stat")
    if status is None:
        return ""
    fields = status[status.rindex(")") + 2 :].split()
    same = start.process_start_ticks in (None, int(fields[_START_TICKS]))
    return fields[0] if same else ""


def _read(path: Path) -> str | None:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return None
