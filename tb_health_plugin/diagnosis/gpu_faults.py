"""Faults of GPUs: what NVIDIA's numbers mean, what to do, and the verdict on one."""

from collections.abc import Sequence

from tb_health_plugin.diagnosis.gpu_words import Fault
from tb_health_plugin.diagnosis.verdict import Evidence, Fix, Moment, Verdict

# Meanings as in NVIDIA's "XID Errors" catalogue, in our words.
OF_THE_CARD = {
    48: "an error of its memory that could not be corrected",
    62: "its own controller halted",
    64: "a broken row of its memory could not be replaced",
    74: "an error of the link between GPUs (NVLink)",
    79: "it fell off the bus",
    92: "very many corrected errors of its memory",
    94: "an error of its memory, contained to one program",
    95: "an error of its memory that may have reached every program",
    119: "its system processor did not answer the driver",
    120: "an error of its system processor",
    140: "an error of its memory that was not contained",
}
OF_A_PROGRAM = {
    13: "an exception in a kernel, such as an index out of range",
    31: "an access to memory that is not there",
}
# In NVIDIA's catalogue these end with a restart of the program, not of the card.
RESTART_IS_ENOUGH = frozenset({94})

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
    "it too.",
    code="compute-sanitizer python train.py",
)


def reset(gpu: str) -> Fix:
    """Args: gpu: Its UUID, or its number for `nvidia-smi`."""
    return Fix(
        title="Reset the GPU, or restart the machine",
        why="A card in this state does not recover by itself.",
        code=f"nvidia-smi --gpu-reset -i {gpu}",
    )


RESTART = Fix(
    title="Start the training again from its last checkpoint",
    why="The driver kept the error to this program; the card itself goes on.",
)


def fixes(*, by_program: bool, restart: bool, gpu: str) -> tuple[Fix, ...]:
    """What is usually done about such a fault."""
    if by_program:
        return OWN_CODE, TEST
    return (RESTART if restart else reset(gpu), TEST)


def meaning(kind: str) -> str | None:
    """What a kind of `gpu_words.Fault` means; None if nobody knows that number."""
    if kind.startswith("xid "):
        number = int(kind.removeprefix("xid "))
        words = OF_THE_CARD.get(number) or OF_A_PROGRAM.get(number)
        return f"{words} (XID {number})" if words else None
    return _KINDS[kind]


def verdict(
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
        fixes=fixes(by_program=told.by_program, restart=False, gpu="0"),
        chip="GPU lost" if told.kind in ("lost", "xid 79") else "GPU fault",
    )
