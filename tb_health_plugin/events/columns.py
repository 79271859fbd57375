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
    Column(
        "data_waited_seconds",
        "Time the training loop waited for data so far, validation left out.",
    ),
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
        "Processes of the trainer's own control group killed for memory since it was "
        "made, whichever limit was hit.",
    ),
    Column(
        "cgroup_memory_inactive_file_bytes",
        "Part of the group's memory that is cached files not read lately; given up "
        "first when memory is short.",
    ),
    Column(
        "tree_processes", "Living processes of the training, data loaders included."
    ),
    Column(
        "tree_rss_bytes",
        "Physical memory of them together; what they share counts several times.",
    ),
    Column(
        "tree_pss_bytes",
        "Physical memory of them together, shared parts counted once. Measured rarely.",
    ),
    Column(
        "tree_cpu_seconds",
        "CPU time of them together so far, that of children that ended included.",
    ),
    Column("tree_read_bytes", "Bytes they had read from disks so far."),
    Column("tree_write_bytes", "Bytes they had written to disks so far."),
    Column("process_threads", "Threads of the training process."),
    Column("process_fds", "Files and sockets the training process has open."),
    Column("process_fd_limit", "How many it may have open. Measured rarely."),
    Column("process_swap_bytes", "Memory of the training process that is swapped out."),
    Column(
        "process_major_faults",
        "Times the training process waited for a page from disk so far.",
    ),
    Column(
        "machine_oom_kills", "Processes killed for memory since the machine booted."
    ),
    Column("machine_swap_in_pages", "Pages swapped in since the machine booted."),
    Column("machine_swap_out_pages", "Pages swapped out since the machine booted."),
    Column("machine_cpu_cores", "CPUs of the machine that are switched on."),
    Column(
        "machine_cpu_busy_seconds", "Time all CPUs worked since the machine booted."
    ),
    Column(
        "machine_cpu_stolen_seconds",
        "Time the host of a virtual machine kept its CPUs from it since it booted.",
    ),
    Column(
        "machine_iowait_seconds",
        "Time CPUs were idle while a task waited for a disk since the machine booted.",
    ),
    Column("load_1min", "Tasks running or waiting for CPU or disk, mean of a minute."),
    Column(
        "pressure_cpu_some_seconds",
        "Time at least one task waited for a CPU since the machine booted.",
    ),
    Column(
        "pressure_memory_some_seconds",
        "Time at least one task waited for memory since the machine booted.",
    ),
    Column(
        "pressure_memory_full_seconds",
        "Time all tasks waited for memory since the machine booted.",
    ),
    Column(
        "pressure_io_full_seconds",
        "Time all tasks waited for disks since the machine booted.",
    ),
    Column(
        "cgroup_cpu_limit_cores",
        "The tightest CPU limit of the control group and its ancestors.",
    ),
    Column(
        "cgroup_cpu_throttled_seconds",
        "Time the group and its ancestors were stopped at their CPU limits so far, "
        "summed over CPUs.",
    ),
    Column(
        "cgroup_cpu_throttled_periods",
        "Periods in which one of them was stopped at its CPU limit so far.",
    ),
    Column(
        "cgroup_pids_used",
        "Processes and threads in the control group with the tightest limit on them.",
    ),
    Column(
        "cgroup_pids_limit",
        "The tightest limit on processes and threads of the group and its ancestors.",
    ),
    Column(
        "cgroup_pids_denied",
        "Processes or threads refused at such a limit so far.",
    ),
    Column("logdir_disk_free_bytes", "Room left on the file system of the log."),
    Column("logdir_disk_total_bytes", "Size of the file system of the log."),
    Column("logdir_disk_free_inodes", "Files that still can be made there."),
    Column("temp_disk_free_bytes", "Room left on the file system of temporary files."),
    Column("temp_disk_free_inodes", "Files that still can be made there."),
    Column("save_disk_free_bytes", "Room left where the model was last saved."),
    Column("save_disk_total_bytes", "Size of that file system."),
    Column("save_disk_free_inodes", "Files that still can be made there."),
    Column(
        "files_disk_free_bytes",
        "Room left on the fullest other file system with files open for writing.",
    ),
    Column("files_disk_total_bytes", "Size of that file system."),
    Column("files_disk_free_inodes", "Files that still can be made there."),
    Column("disk_read_bytes", "Bytes read from all disks since the machine booted."),
    Column("disk_write_bytes", "Bytes written to all disks since the machine booted."),
    Column(
        "disk_busy_seconds",
        "Time disks were at work since the machine booted, summed over disks.",
    ),
    Column("network_received_bytes", "Bytes received, loopback left out, so far."),
    Column("network_sent_bytes", "Bytes sent, loopback left out, so far."),
    Column("network_errors", "Packets with errors or dropped, in and out, so far."),
    Column("temperature_celsius", "Hottest sensor of the machine."),
    Column(
        "cpu_throttle_count",
        "Times CPUs slowed down for heat since the machine booted, summed over CPUs.",
    ),
    Column(
        "clock_offset_seconds",
        "Wall clock minus time since boot; a step is a jump of the clock.",
    ),
    Column("suspended_seconds", "Time the machine slept since it booted."),
)

# The most GPUs of one machine that have columns: the largest boxes have 16.
MOST_GPUS = 16

_OF_A_GPU = (
    ("memory_used_bytes", "Memory in use, whoever uses it."),
    ("memory_free_bytes", "Memory that is free."),
    ("memory_total_bytes", "All its memory."),
    (
        "memory_others_bytes",
        "Memory held by processes that are not of this training. Measured rarely.",
    ),
    ("other_pid", "Process id of the one of them that holds most; 0 if none does."),
    (
        "others_busy_fraction",
        "Part of the time in which they computed on it. Measured rarely.",
    ),
    ("busy_fraction", "Part of the last moment in which it computed something."),
    ("memory_busy_fraction", "Part of the last moment in which it moved memory."),
    ("temperature_celsius", "Its temperature."),
    ("slowdown_celsius", "Temperature at which it slows itself down. Measured rarely."),
    ("shutdown_celsius", "Temperature at which it switches off. Measured rarely."),
    ("power_watts", "Power it draws."),
    ("power_limit_watts", "Power it may draw. Measured rarely."),
    ("sm_clock_hertz", "Clock of its processors."),
    ("sm_clock_max_hertz", "Their highest clock. Measured rarely."),
    ("throttle_reasons", "Why its clocks are not higher, as NVML's bits."),
    ("fan_fraction", "Speed of its fan, of the highest. Measured rarely."),
    ("performance_state", "0 is the fastest, 15 the slowest. Measured rarely."),
    (
        "ecc_uncorrected_errors",
        "Errors of its memory that could not be corrected since the driver was "
        "loaded. Measured rarely.",
    ),
    (
        "ecc_corrected_errors",
        "Errors of its memory that were corrected since then. Measured rarely.",
    ),
    (
        "ecc_lifetime_errors",
        "Errors that could not be corrected in the life of the card. Measured rarely.",
    ),
    (
        "remapped_rows",
        "Broken rows of its memory that were replaced so far. Measured rarely.",
    ),
    (
        "remap_pending",
        "1 if a broken row waits for a reset to be replaced, else 0. Measured rarely.",
    ),
    (
        "remap_failed",
        "1 if a broken row of its memory could not be replaced, else 0. Measured "
        "rarely.",
    ),
    (
        "retired_pages",
        "Pages of its memory taken out of use; cards before Ampere. Measured rarely.",
    ),
    ("pcie_replays", "Packets sent again on its bus so far. Measured rarely."),
    (
        "pcie_received_bytes_per_second",
        "What it got from the machine. Measured very rarely.",
    ),
    (
        "pcie_sent_bytes_per_second",
        "What it sent to the machine. Measured very rarely.",
    ),
    ("nvlink_links_up", "Links to other GPUs that work. Measured rarely."),
    ("nvlink_received_bytes", "What came over them so far. Measured rarely."),
    ("nvlink_sent_bytes", "What it sent over them so far. Measured rarely."),
    ("nvlink_errors", "Errors and repeats on them so far. Measured rarely."),
    ("xid", "Error number that the driver reported; one in each sample."),
    ("xid_events", "How many it reported while this was recorded."),
    ("lost", "1 if it does not answer any more, or must be reset; else 0."),
)


def gpu_columns(gpu: int) -> tuple[Column, ...]:
    """The columns of one GPU, as in `gpu0_power_watts`.

    Args:
        gpu: Its place among those that the training may see, counted from 0.
    """
    return tuple(
        Column(f"gpu{gpu}_{name}", f"GPU {gpu}: {meaning}")
        for name, meaning in _OF_A_GPU
    )


GPUS = tuple(column for gpu in range(MOST_GPUS) for column in gpu_columns(gpu))

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

ALL = (*PROGRESS, *RESOURCES, *GPUS, *GRADIENTS, *DATA_PIPELINE)

# What is counted on a machine is never infinite. A loss may be.
COUNTED = frozenset(c.name for c in (*PROGRESS, *RESOURCES, *GPUS)) - {"loss"}
# More bytes than all machines have. What is larger was never counted.
LARGEST_COUNT = 1e21


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
