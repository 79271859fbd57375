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


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """Whether a process lives, and how that is known.

    Attributes:
        alive: It does, or is taken to do so.
        because: How we know, as a sentence.
        restarted_after_seconds: How long after the last sign of life its machine
            was started again; None if it was not, or nobody knows.
    """

    alive: bool
    because: str
    restarted_after_seconds: float | None = None


def life_of(attempt: Attempt, now: float, *, root: Path = Path("/")) -> Life:
    """Asks this machine, and the freshness of the record where it cannot tell."""
    start = attempt.start
    alive = is_alive(start, root=root) if start else None
    if start is not None and alive is not None:
        verb = "is running" if alive else "is gone"
        return Life(alive=alive, because=f"Process {start.pid} {verb}.")
    restarted = _restarted_after(attempt, now, root) if start else None
    if restarted is not None:
        return Life(
            alive=False,
            because="Its machine was started again since.",
            restarted_after_seconds=restarted,
        )
    limit = max(SILENT_SECONDS, SILENT_PERIODS * attempt.period_seconds)
    silent = now - (attempt.last_seen_at or 0.0)
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
    if boot.strip() != start.boot_id:
        # Another machine, or this one before it was started again.
        return None
    status = _read(root / f"proc/{start.pid}/stat")
    if status is None:
        return False
    fields = status[status.rindex(")") + 2 :].split()
    is_zombie = fields[0] in ("Z", "X")
    same = start.process_start_ticks in (None, int(fields[_START_TICKS]))
    return same and not is_zombie


def _read(path: Path) -> str | None:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return None
