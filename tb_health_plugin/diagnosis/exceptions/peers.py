"""Another worker of the same training that is gone, silent or out of step."""

import re
from dataclasses import replace

from tb_health_plugin.diagnosis import hosting, resuming
from tb_health_plugin.diagnosis.ending import Ending
from tb_health_plugin.diagnosis.exceptions.failure import failure
from tb_health_plugin.diagnosis.exceptions.raised import Raised
from tb_health_plugin.diagnosis.peers import own_task
from tb_health_plugin.diagnosis.verdict import Evidence, Fix
from tb_health_plugin.reading.run_history import Attempt

# A task of a cluster; "localhost" is every process by itself.
_TASK = re.compile(r"/job:(?!localhost)(\w+)(?:/replica:\d+)?/task:(\d+)")
_CLASSES = (
    "UnavailableError",
    "AbortedError",
    "DeadlineExceededError",
    "InternalError",
    "CancelledError",
    "UnknownError",
    "FailedPreconditionError",
    "InvalidArgumentError",
)
# What TensorFlow says, from the surest to the weakest: the pattern, the detail, and
# what the other worker did.
_SIGNS = (
    (
        r"Shape mismatch in the collective|different input shapes at different members"
        r"|expected shape .{0,80}another member|Collective ops? .{0,60}mismatch",
        "out_of_step",
        "is out of step",
    ),
    (
        r"heartbeat|is unhealthy|considered (?:dead|unhealthy)",
        "silent",
        "stopped answering",
    ),
    (
        r"Socket closed|Connection reset by peer|Broken pipe|has been restarted"
        r"|was preempted|remote process exited",
        "dead",
        "is gone",
    ),
    (
        r"Connection refused|failed to connect to all addresses|Barrier timed out"
        r"|tasks? (?:that )?(?:have not|did not) (?:been )?(?:reach|join|connect)"
        r"|Timed out waiting .{0,80}barrier",
        "absent",
        "did not come",
    ),
    (
        r"Collective ops? (?:is|are|was|were)? ?aborted|CollectiveReduce|collective"
        r" operation|NCCL|coordination service|all-?reduce",
        "lost",
        "was lost",
    ),
)
_OTHERS = r"Horovod has been shut down|HorovodInternalError|NCCL error|ncclSystemError"


def lost(raised: Raised) -> Ending | None:
    """A worker that is lost to this one; None if this is something else."""
    for voice in raised.voices:
        if voice.name in _CLASSES:
            found = _sign(raised, voice.message)
            if found is not None:
                return _ending(raised, voice.message, *found)
        if re.search(_OTHERS, f"{voice.name}: {voice.message}"):
            return _ending(raised, voice.message, "lost", "was lost")
    return None


def _sign(raised: Raised, message: str) -> tuple[str, str] | None:
    in_cluster = bool(_TASK.search(message)) or own_task(raised.attempt) is not None
    if not in_cluster and "oordination" not in message:
        # A bucket or a server elsewhere that does not answer is no worker.
        return None
    for pattern, detail, words in _SIGNS:
        if re.search(pattern, message, re.IGNORECASE):
            return detail, words
    return None


def _ending(raised: Raised, message: str, detail: str, words: str) -> Ending:
    worker = _worker(raised, message)
    name = worker or "Another worker"
    place = raised.place
    if worker:
        place["worker"] = worker
    return failure(
        raised,
        id="peer_lost",
        detail=detail,
        confidence="proven" if worker else "likely",
        headline=f"{name[0].upper()}{name[1:]} {words}; this one ended {raised.where}",
        because="TensorFlow reported it. Workers in step end together, so the cause "
        "is in the record of the one that was lost first.",
        place=place,
        evidence=(*raised.evidence(), *_said(raised, worker)),
        fixes=_fixes(raised, detail, worker),
        chip=f"Lost {worker}" if worker else "Worker lost",
    )


def _worker(raised: Raised, message: str) -> str | None:
    """The task that is named and is not this one: "worker 1"."""
    own = own_task(raised.attempt)
    named = [f"{job} {task}" for job, task in _TASK.findall(message)]
    others = [task for task in named if task != own]
    return others[0] if others else None


def _said(raised: Raised, worker: str | None) -> tuple[Evidence, ...]:
    own = own_task(raised.attempt)
    if own is None or worker is None:
        return ()
    text = f"This process is {own}; {worker} is another one."
    return (Evidence(text=text, strong=False, at=raised.at),)


def _fixes(raised: Raised, detail: str, worker: str | None) -> tuple[Fix, ...]:
    if detail == "out_of_step":
        return (
            Fix(
                title="Give every worker the same steps and shapes",
                why="Each step joins all workers. One with another batch, another "
                "model or another number of steps cannot join.",
                code="dataset = dataset.batch(size, drop_remainder=True).repeat()",
            ),
        )
    who = worker or "the other workers"
    return (
        Fix(
            title=f"Look at {who} first",
            why="It stopped before this one did. Its own record, or the log of its "
            "machine at that moment, has the cause.",
            code=hosting.log_elsewhere(raised.attempt, raised.happened_at)
            if raised.happened_at
            else None,
        ),
        _together(raised.attempt),
    )


def _together(attempt: Attempt) -> Fix:
    """All start again, from a checkpoint if there is one."""
    why = "A worker that comes back cannot join a training under way."
    fix = resuming.go_on(attempt)
    if fix == resuming.SAVE_OFTEN:
        return replace(
            fix, title="Save checkpoints, so that all can go on together", why=why
        )
    return replace(fix, why=f"{why} {fix.why}")
