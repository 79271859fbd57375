"""The vocabulary of numbers: every column a sample or a table may have.

A name that was released keeps its unit and meaning for ever. The unit ends the
name; a name without one is a plain count or number.
"""

import difflib
import struct
from collections.abc import Iterable
from dataclasses import dataclass

# A loss may really be NaN, so "not measured" is a NaN of its own: the quiet one that
# carries the letters NA. Other readers see a plain NaN.
NOT_MEASURED_BITS = 0x7FF8_0000_0000_4E41
NOT_MEASURED: float = struct.unpack("<d", struct.pack("<Q", NOT_MEASURED_BITS))[0]


@dataclass(frozen=True, slots=True)
class Column:
    """One kind of number.

    Attributes:
        name: How samples name it. Letters, digits and underscores.
        meaning: What it is, for people.
        since: The format version that added it.
    """

    name: str
    meaning: str
    since: int = 1


PROGRESS = (
    Column("sample", "Counts the samples of the attempt from 0."),
    Column("step", "Training steps of this attempt finished so far."),
    Column("epoch", "Epoch under way, counted from 0 as Keras does."),
    Column("loss", "Loss of the epoch so far, as Keras shows it in its progress bar."),
)

RESOURCES = (
    Column("process_rss_bytes", "Physical memory the training process holds."),
    Column("host_memory_total_bytes", "Physical memory of the machine."),
    Column(
        "host_memory_used_bytes",
        "Memory the machine could not give to programs without swapping.",
    ),
    Column("host_swap_total_bytes", "Swap space of the machine."),
    Column("host_swap_used_bytes", "Swap space in use."),
    Column(
        "cgroup_memory_used_bytes",
        "Memory charged to the control group with the tightest limit.",
    ),
    Column(
        "cgroup_memory_limit_bytes",
        "The tightest memory limit of the control group and its ancestors.",
    ),
    Column(
        "cgroup_oom_kills",
        "Processes of the control group killed for memory since it was made.",
    ),
)

GRADIENTS = (
    Column("has_gradient", "1 if the loss gives this variable a gradient, else 0."),
    Column("norm", "Euclidean norm of the gradient; NaN without a gradient."),
    Column("nonfinite_count", "Numbers of the gradient that are NaN or infinite."),
    Column("zero_fraction", "Share of the gradient's numbers that are exactly 0."),
    Column("size", "How many numbers the variable has."),
    Column("weight_norm", "Euclidean norm of the variable itself."),
)

DATA_PIPELINE = (
    Column("wait_seconds", "Time the step waited for its data."),
    Column("step_seconds", "Time the whole step took, waiting included."),
    Column("batch_examples", "Examples in the batch."),
    Column("queued_batches", "Batches ready and waiting, where the pipeline tells."),
    Column("workers", "Processes or threads that prepare data."),
)

ALL = (*PROGRESS, *RESOURCES, *GRADIENTS, *DATA_PIPELINE)


def check_names(names: Iterable[str], allowed: tuple[Column, ...]) -> None:
    """Makes sure that every name is one of the allowed columns.

    Raises:
        ValueError: One is not; the message names it and what was meant perhaps.
    """
    known = [column.name for column in allowed]
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise ValueError(
                f"{name!r} is not a number this summary can hold.{hint} "
                f"It can hold: {', '.join(known)}."
            )
