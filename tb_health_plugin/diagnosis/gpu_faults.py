"""Faults of GPUs: what they mean, what to do, and the verdict on one."""

from collections.abc import Sequence
from dataclasses import replace

from tb_health_plugin.diagnosis import own_code, resuming
from tb_health_plugin.diagnosis.cuda_words import Fault
from tb_health_plugin.diagnosis.verdict import Evidence, Fix, Moment, Verdict
from tb_health_plugin.diagnosis.xids import XIDS, Action
from tb_health_plugin.reading.run_history import Attempt

_KINDS = {
    "ecc": "an error of its memory could not be corrected",
    "lost": "it does not answer any more",
    "nvlink": "an error of the link between GPUs (NVLink)",
    "hardware": "an error of its hardware",
    "illegal_address": "a kernel used memory that is not its own",
    "illegal_instruction": "a kernel had an instruction that the card does not know",
    "assertion": "a check inside a kernel failed",
    "timeout": "a kernel ran longer than the driver allows",
    "launch_failed": "a kernel failed while it ran",
}
# What ended with it, whatever the program was told.
EXPLAINS = ("native_crash", "code_error", "compute_hang", "slow_step")

TEST = Fix(
    title="Run NVIDIA's diagnostics before you train on it again",
    why="A fault that comes back means a card, a slot or a power supply to replace.",
    code="dcgmi diag -r 3",
)
OWN_CODE = Fix(
    title="Look for an index out of range, or a custom kernel, first",
    why="This mostly comes from a program; from the card only if other programs have "
    "it too. Under this it runs many times slower.",
)


def reset(gpu: str) -> Fix:
    """Args: gpu: Its UUID, or its number for `nvidia-smi`."""
    return Fix(
        title="Reset the GPU, or restart the machine",
        why="A card in this state does not recover by itself.",
        code=f"nvidia-smi --gpu-reset -i {gpu}",
    )


def restart(attempt: Attempt) -> Fix:
    """To start again: from a checkpoint, if there is one."""
    fix = resuming.go_on(attempt)
    why = "The driver kept the error to this program; the card itself goes on."
    title = "Start the training again, from its last checkpoint if it has one"
    return replace(fix, title=title, why=f"{why} {fix.why}")


REBOOT = Fix(
    title="Restart the machine",
    why="A card that fell off the bus comes back only so. If it happens again, look at "
    "its power supply, its slot and its heat.",
    code='sudo dmesg | grep -iE "xid|pcie"',
)
WATCH = Fix(
    title="Nothing has to be done at once",
    why="Corrected errors change no result. If they go on, have the card looked at.",
    code="nvidia-smi -q -d ECC",
)


def fixes(
    attempt: Attempt, *, by_program: bool, action: Action, gpu: str
) -> tuple[Fix, ...]:
    """What is usually done about such a fault."""
    if by_program:
        line = f"compute-sanitizer {own_code.started(attempt)}"
        return replace(OWN_CODE, code=line), TEST
    if action == "watch":
        return (WATCH,)
    first = {"restart": restart(attempt), "reboot": REBOOT, "reset": reset(gpu)}
    return first[action], TEST


def action_on(kind: str) -> Action:
    """What is advised for a kind of fault."""
    number = _number(kind)
    return XIDS[number].action if number in XIDS else "reset"


def _number(kind: str) -> int:
    """The number in "xid 79"; 0 if it is another kind."""
    return int(kind.removeprefix("xid ")) if kind.startswith("xid ") else 0


def meaning(kind: str) -> str | None:
    """What a kind of `gpu_words.Fault` means; None if nobody knows that number."""
    if number := _number(kind):
        known = XIDS.get(number)
        return f"{known.meaning} (XID {number})" if known else None
    return _KINDS[kind]


def verdict(
    attempt: Attempt,
    told: Fault,
    *,
    at: Moment,
    place: dict[str, str | int],
    evidence: Sequence[Evidence],
    because: str,
) -> Verdict:
    """The verdict on a fault that CUDA told the program of."""
    return Verdict(
        id="gpu_fault",
        detail=told.kind,
        severity="critical",
        confidence="likely" if told.by_program else "proven",
        headline=f"The GPU failed: {meaning(told.kind) or told.kind}",
        because=because,
        cause_at=at,
        stopped_at=at,
        place=place,
        evidence=tuple(evidence),
        fixes=fixes(
            attempt,
            by_program=told.by_program,
            action=action_on(told.kind),
            gpu="0",
        ),
        chip="GPU lost" if told.kind in ("lost", "xid 79") else "GPU fault",
    )
