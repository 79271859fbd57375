"""NVIDIA's GPUs, as far as the training may see them.

Another maker's GPUs need a file beside this one; `docs/gpu.md` says how.
"""

import os
from collections.abc import Mapping
from typing import Any

from tb_health_plugin.collectors.collector import SourceUnavailable, Watched
from tb_health_plugin.collectors.nvml_cards import (
    as_text,
    cuda_version,
    every_card,
    uuid,
)
from tb_health_plugin.collectors.nvml_gpu import Gpu
from tb_health_plugin.collectors.patience import Errand, Patience
from tb_health_plugin.collectors.visible_gpus import Card, visible
from tb_health_plugin.events import facts
from tb_health_plugin.events.columns import GPUS, MOST_GPUS, gpu_columns

# A driver that keeps nothing loaded takes a second per card to wake up. The watcher
# waits so long, and goes on without it.
OPEN_SECONDS = 3.0
# A reading takes milliseconds. The watcher looks at the training four times a second,
# so one look is late if the driver hangs.
READ_SECONDS = 1.0
# What changes slowly, or makes the driver search, is asked this rarely.
_EVERYTHING_EVERY = 10
# For the traffic on the bus the driver counts for 40 ms per card: rarely, and on a
# thread of its own, so that no sample waits for it.
_TRAFFIC_EVERY = 30
# More processes of others than this are not named: somebody starts many short ones.
_MOST_NAMED = 64

# What else may be there, for which nobody has written a collector.
_OTHER_MAKERS = {
    "dev/kfd": "an AMD GPU",
    "dev/accel0": "a TPU or another accelerator at /dev/accel0",
    "dev/vfio/0": "a TPU or another accelerator at /dev/vfio/0",
    "System/Library/Frameworks/Metal.framework": "the GPU of a Mac",
}
# What many cards do not have. Each column costs 8 bytes a second.
_LEFT_OUT = {
    "NVLink": "nvlink_",
    "retired pages": "retired_",
    "remapped rows": "remap",
    "ECC": "ecc_",
    "how busy others keep it": "others_busy_",
}


class NvidiaGpus:
    """Asks NVML through `pynvml`, on a thread that may hang.

    Raises:
        SourceUnavailable: There is no NVIDIA GPU, the training may not see it, or
            nobody can ask about it.
    """

    what = "GPU"
    columns = tuple(column.name for column in GPUS)

    def __init__(self, watched: Watched) -> None:
        if watched.pid == os.getpid():
            # The driver could hang or crash in there, and take the training along.
            raise SourceUnavailable("the driver is only asked by the watcher")
        self._watched = watched
        self._patience = Patience("NVIDIA's driver")
        self._gpus: list[Gpu] | None = None
        self._traffic: Errand[dict[str, float]] = Errand()
        self._named: set[tuple[int, int]] = set()
        self._readings = 0
        self.settings: dict[str, str] = {}
        if not (watched.root / "proc").is_dir():
            raise SourceUnavailable(_nothing(watched))
        try:
            self._patience.ask(self._open, OPEN_SECONDS)
            count = len(self._gpus or ())
        except TimeoutError:
            # It may wake up later: the kernel knows how many there are.
            listed = watched.root / "proc/driver/nvidia/gpus"
            count = len(list(listed.iterdir())) if listed.is_dir() else 1
        except SourceUnavailable:
            raise
        except Exception as error:
            raise SourceUnavailable(f"NVIDIA's driver failed: {error}") from error
        self.columns = tuple(
            column.name
            for gpu in range(min(count, MOST_GPUS))
            for column in gpu_columns(gpu)
            if not column.name.startswith(self._has_not(gpu))
        )

    def collect(self) -> Mapping[str, float]:
        numbers = self._patience.ask(self._read, READ_SECONDS)
        return {name: value for name, value in numbers.items() if name in self.columns}

    def _has_not(self, place: int) -> tuple[str, ...]:
        """Beginnings of the columns that a GPU has no numbers for."""
        if self._gpus is None:
            return ()
        cannot = self._gpus[place].not_supported
        return tuple(f"gpu{place}_{_LEFT_OUT[w]}" for w in cannot if w in _LEFT_OUT)

    def news(self, wall_time: float, step: int) -> list[facts.Fact]:
        """Processes of others that were not on these GPUs before."""
        found: list[facts.Fact] = []
        for place, gpu in enumerate(self._gpus or ()):
            for one in gpu.strangers:
                if (place, one.pid) in self._named or len(self._named) >= _MOST_NAMED:
                    continue
                self._named.add((place, one.pid))
                found.append(
                    facts.GpuShared(
                        wall_time=wall_time,
                        step=step,
                        gpu=place,
                        pid=one.pid,
                        name=one.name,
                        memory_bytes=one.memory_bytes,
                    )
                )
        return found

    def _read(self) -> dict[str, float]:
        if self._gpus is None:
            self._open()
        everything = self._readings % _EVERYTHING_EVERY == 0
        numbers: dict[str, float] = {}
        failed: list[Exception] = []
        for place, gpu in enumerate(self._gpus or ()):
            try:
                reading = gpu.read(everything=everything)
            except Exception as error:  # noqa: BLE001 - the others may still answer
                failed.append(error)
                continue
            numbers |= {f"gpu{place}_{name}": value for name, value in reading.items()}
        if self._readings % _TRAFFIC_EVERY == 0:
            self._traffic.begin(self._read_traffic)
        self._readings += 1
        if failed and not numbers:
            raise failed[0]
        return numbers | (self._traffic.fetch() or {})

    def _read_traffic(self) -> dict[str, float]:
        return {
            f"gpu{place}_{name}": value
            for place, gpu in enumerate(self._gpus or ())
            for name, value in gpu.traffic().items()
        }

    def _open(self) -> None:
        nvml = _nvml(self._watched)
        try:
            nvml.nvmlInit()
        except nvml.NVMLError as error:
            raise SourceUnavailable(_why_none(self._watched, nvml, error)) from error
        handles = every_card(nvml)
        cards = [
            Card(uuid(nvml, card), tuple(uuid(nvml, one) for one in parts))
            for card, parts in handles
        ]
        if not cards:
            raise SourceUnavailable(_nothing(self._watched))
        chosen = visible(cards, self._watched.visible_gpus)
        if not chosen:
            raise SourceUnavailable(
                "the training may see none: CUDA_VISIBLE_DEVICES is "
                f"{self._watched.visible_gpus!r}"
            )
        gpus: list[Gpu] = []
        for place, part in chosen[:MOST_GPUS]:
            card, parts = handles[place]
            handle = card if part is None else parts[part]
            gpu = Gpu(
                nvml,
                handle,
                card,
                trainer=self._watched.pid,
                proc=self._watched.root / "proc",
            )
            gpu.learn()
            self._describe(nvml, len(gpus), handle, gpu)
            gpus.append(gpu)
        self._gpus = gpus

    def _describe(self, nvml: Any, place: int, handle: Any, gpu: Gpu) -> None:
        asked = {
            "gpu.driver": nvml.nvmlSystemGetDriverVersion,
            "gpu.cuda": lambda: cuda_version(nvml.nvmlSystemGetCudaDriverVersion()),
            f"gpu.{place}.name": lambda: nvml.nvmlDeviceGetName(handle),
            f"gpu.{place}.uuid": lambda: nvml.nvmlDeviceGetUUID(handle),
        }
        for name, ask in asked.items():
            try:
                self.settings[name] = as_text(ask())
            except nvml.NVMLError:
                continue
        for name, left_out in (
            ("not_supported", gpu.not_supported),
            ("not_permitted", gpu.not_permitted),
        ):
            if left_out:
                self.settings[f"gpu.{place}.{name}"] = ", ".join(left_out)


def _nvml(watched: Watched) -> Any:
    try:
        import pynvml  # noqa: PLC0415 - only where there may be a GPU, never in a trainer
    except ImportError as error:
        if not (watched.root / "proc/driver/nvidia/version").exists():
            raise SourceUnavailable(_nothing(watched)) from error
        raise SourceUnavailable(
            "the package nvidia-ml-py is not installed: "
            "pip install 'tensorboard-plugin-health[gpu]'"
        ) from error
    return pynvml


def _why_none(watched: Watched, nvml: Any, error: Any) -> str:
    absent = (nvml.NVML_ERROR_LIBRARY_NOT_FOUND, nvml.NVML_ERROR_DRIVER_NOT_LOADED)
    if error.value in absent:
        return _nothing(watched)
    return f"NVIDIA's driver refused: {error}"


def _nothing(watched: Watched) -> str:
    for path, what in _OTHER_MAKERS.items():
        if (watched.root / path).exists():
            return f"no collector for this accelerator: {what}"
    return "no NVIDIA GPU"


COLLECTOR = NvidiaGpus
