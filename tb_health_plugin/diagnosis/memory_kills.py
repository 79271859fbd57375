"""Whether the kernel killed this very process for lack of memory, and what helps."""

from tb_health_plugin.diagnosis import hosting
from tb_health_plugin.diagnosis.verdict import Fix
from tb_health_plugin.events import facts
from tb_health_plugin.reading.run_history import Attempt
from tb_health_plugin.reading.table import TIME, measured

# A machine that kills for memory is nearly full.
NEAR_LIMIT = 0.8
# A kill frees memory before the last sample: the peak of the last minute counts.
LAST_SECONDS = 60.0

_GIB = 1 << 30


def was_for_memory(attempt: Attempt, seen: facts.ProcessEnded) -> bool:
    """True if kills were counted that may well have been this one.

    The machine's counter also rises for kills in other containers. Those say nothing
    about a machine that had plenty of room.
    """
    if seen.cgroup_oom_kills:
        return True
    return bool(seen.machine_oom_kills) and (
        was_near_limit(seen) or machine_was_full(attempt)
    )


def was_near_limit(seen: facts.ProcessEnded) -> bool:
    peak, limit = seen.peak_memory_bytes, seen.memory_limit_bytes
    return bool(peak and limit and peak / limit >= NEAR_LIMIT)


def machine_was_full(attempt: Attempt) -> bool:
    """True if the machine as a whole was nearly full in the end, or nobody looked."""
    samples = attempt.samples
    used = samples.column("host_memory_used_bytes")
    total = samples.column("host_memory_total_bytes")
    known = measured(used) & measured(total) & (total > 0)
    if not known.any():
        # Nobody looked: it cannot be ruled out.
        return True
    time = samples.column(TIME)
    late = known & (time >= time[known][-1] - LAST_SECONDS)
    return bool((used[late] >= NEAR_LIMIT * total[late]).any())


def less_memory(
    attempt: Attempt, *, in_container: bool = False, need: float | None = None
) -> Fix:
    """What helps if nothing more is known than that there was too little.

    Args:
        attempt: The record.
        in_container: It was the container that had too little, not the machine.
        need: The bytes that would have been enough, as far as that is known.
    """
    seen = attempt.last(facts.ProcessEnded)
    peak = seen.peak_memory_bytes if seen else None
    limit = seen.memory_limit_bytes if seen else None
    held = ""
    if peak and limit:
        held = f"It held {peak / _GIB:.1f} of {limit / _GIB:.1f} GiB. "
    code = "free -h && ps aux --sort=-rss | head -n 5"
    if limit and in_container:
        code = hosting.memory(attempt, max(need or 2 * limit, limit))
    return Fix(
        title="Need less memory at once, or allow more",
        why=f"{held}In the memory lane a slope is something that grows, a step is "
        "something that was loaded. More memory only delays a slope.",
        code=code,
    )
