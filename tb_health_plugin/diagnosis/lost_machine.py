"""A record that just ends: whatever ended the training ended its watcher, too."""

from tb_health_plugin.diagnosis import hosting
from tb_health_plugin.diagnosis.ending import Ending, ended
from tb_health_plugin.diagnosis.moments import stopped_at, where
from tb_health_plugin.diagnosis.verdict import Evidence, Fix, Verdict
from tb_health_plugin.reading.liveness import Life
from tb_health_plugin.reading.run_history import Attempt

# A machine that loses power or freezes is back within this time, or it is somebody who
# started it again for another reason, long after the run had ended.
BACK_WITHIN_SECONDS = 900.0


def verdict(attempt: Attempt, life: Life) -> Verdict | None:
    """That the machine went away under the run; None if nothing says so."""
    after = life.restarted_after_seconds
    if after is None or after > BACK_WITHIN_SECONDS:
        return None
    at = stopped_at(attempt)
    return Verdict(
        id="machine_lost",
        severity="critical",
        confidence="likely",
        headline=f"The machine went away {where(attempt)}: it was started again",
        because=(
            "Trainer and watcher fell silent in the same moment, and the machine was "
            "started again soon after. A loss of power, a freeze and an orderly "
            "reboot look alike."
        ),
        cause_at=at,
        stopped_at=at,
        evidence=(
            Evidence(
                text=f"The machine was started {after:,.0f} s after the last sample; "
                "its boot id has changed.",
                at=at,
            ),
            Evidence(text="The record has no end.", strong=False, at=at),
        ),
        fixes=(
            Fix(
                title="Look into the machine's own log of that moment",
                why="It tells a reboot that somebody asked for from a loss of power.",
                code="journalctl --boot=-1 --lines=50",
            ),
        ),
    )


def killed_together(attempt: Attempt, life: Life) -> Ending:
    """The machine is still there, and both processes are not."""
    at = stopped_at(attempt)
    return ended(
        "died",
        at,
        id="killed_outside",
        detail="together",
        confidence="possible",
        headline=f"Gone together with its watcher {where(attempt)}",
        because=(
            "A crash or an exit of the training alone would have been seen by the "
            "watcher, a process of its own. A container that is removed, and a kill of "
            "all that a user or a job runs, take both."
        ),
        evidence=(
            Evidence(text=life.because, at=at),
            Evidence(text="The record has no end, and its watcher is gone.", at=at),
        ),
        fixes=(
            Fix(
                title="Look into the log of whatever runs the container or the job",
                why="It names the moment and the reason: a limit, an eviction, or "
                "somebody who removed it.",
                code=hosting.log(attempt, at.wall_time) if at.wall_time else None,
            ),
        ),
        chip="Killed",
    )
