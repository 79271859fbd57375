"""Who else uses a GPU: processes that are not of this training, by name.

Everything here may hang in the driver: only `Patience` calls it.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tb_health_plugin.collectors.kernel_files import read
from tb_health_plugin.collectors.process_stat import parse_stat

# So many generations up a process is looked for among the trainer's descendants.
_MOST_GENERATIONS = 16
_PERCENT = 1e-2
# Options of Python that take no word of their own, and so may stand before a script.
_PLAIN_OPTIONS = frozenset("bBdEhiIOPqsSuvx")


@dataclass(frozen=True, slots=True)
class Stranger:
    """A process of somebody else's on the same GPU.

    Attributes:
        pid: Its number.
        name: What it runs, without arguments: those may be secret.
        memory_bytes: Memory of the GPU that it holds.
    """

    pid: int
    name: str
    memory_bytes: float


class Processes:
    """Processes on one GPU.

    Args:
        nvml: The module `pynvml`.
        handle: The GPU, or the part of one.
        card: The whole card.
        trainer: The process that trains.
        proc: Where `/proc` is.

    Attributes:
        strangers: Those that are not of this training, as seen last.
    """

    def __init__(
        self, nvml: Any, handle: Any, card: Any, *, trainer: int, proc: Path
    ) -> None:
        self._nvml = nvml
        self._handle = handle
        self._card = card
        self._trainer = trainer
        self._proc = proc
        self._seen_until = 0
        self.strangers: tuple[Stranger, ...] = ()

    def memory(self) -> dict[str, float]:
        listed = self._nvml.nvmlDeviceGetComputeRunningProcesses(self._handle)
        held = {one.pid: float(one.usedGpuMemory or 0) for one in listed}
        if not self._are_known(held):
            return {}
        self.strangers = tuple(
            Stranger(pid, name_of(self._proc, pid), size)
            for pid, size in held.items()
            if not self._is_ours(pid)
        )
        most = max(self.strangers, key=lambda one: one.memory_bytes, default=None)
        return {
            "memory_others_bytes": sum(one.memory_bytes for one in self.strangers),
            "other_pid": float(most.pid) if most else 0.0,
        }

    def busy(self) -> dict[str, float]:
        """How much of its time the others took since it was asked last."""
        try:
            told = self._nvml.nvmlDeviceGetProcessUtilization(
                self._card, self._seen_until
            )
        except self._nvml.NVMLError_NotFound:
            # Nobody computed anything.
            return {"others_busy_fraction": 0.0}
        self._seen_until = max((one.timeStamp for one in told), default=0)
        shares: dict[int, list[int]] = {}
        for one in told:
            shares.setdefault(one.pid, []).append(one.smUtil)
        if not self._are_known(shares):
            return {}
        others = [v for pid, v in shares.items() if not self._is_ours(pid)]
        busy = sum(sum(values) / len(values) for values in others) * _PERCENT
        return {"others_busy_fraction": min(1.0, busy)}

    def _are_known(self, pids: Any) -> bool:
        """False where NVML counts the machine's processes, and we a container's."""
        return all((self._proc / str(pid)).exists() for pid in pids)

    def _is_ours(self, pid: int) -> bool:
        """It is the trainer, or was started by it or by its children."""
        for _ in range(_MOST_GENERATIONS):
            if pid == self._trainer:
                return True
            stat = parse_stat(read(self._proc / str(pid) / "stat"))
            if stat is None or stat.parent <= 1:
                return False
            pid = stat.parent
        return False


def name_of(proc: Path, pid: int) -> str:
    """As in "Xorg", "python train.py" or "python -m ipykernel_launcher".

    Only the script or the module of a Python is added, never other arguments.
    """
    name = read(proc / str(pid) / "comm").strip()
    if not name.startswith("python"):
        return name
    words = read(proc / str(pid) / "cmdline").split("\0")[1:]
    while words and words[0][:1] == "-" and set(words[0][1:]) <= _PLAIN_OPTIONS:
        words.pop(0)
    if len(words) > 1 and words[0] == "-m":
        return f"{name} -m {words[1]}"
    if words and words[0].endswith(".py"):
        return f"{name} {Path(words[0]).name}"
    return name
