"""A record that just ends, on a machine that was started again right after."""

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
