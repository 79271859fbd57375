"""What TensorFlow itself says of GPU memory: what it may take, and what it really uses.

TensorFlow reserves nearly all of a GPU's memory at once, so the driver's number says
little. Its allocator knows what tensors take. It is asked for counters it keeps anyway;
the GPU is not asked, and no step is waited for.
"""

import sys
import time
from typing import Any

from tb_health_plugin.events import facts
from tb_health_plugin.recording.fitting.fit import Fit

# A peak that grows is told as it does; one that stays, so rarely.
EVERY_SECONDS = 60.0
# Growth of the peak that is worth a fact.
MORE = 1.01
_MIB = float(1 << 20)
# What functions of `tf.config` raise for a device that they do not know, or too early.
_REFUSED = (ValueError, RuntimeError, TypeError, AttributeError, KeyError)


class GpuMemory:
    """Records what the allocators of TensorFlow's GPUs say."""

    def __init__(self, fit: Fit) -> None:
        self._fit = fit
        self._first_step = fit.recorder.progress.step
        self._peaks: dict[int, float] = {}
        self._told_at = 0.0
        self._is_on = True

    def tell(self, *, now: float, at_once: bool = False) -> None:
        """Records what changed.

        Args:
            now: By a clock that never jumps.
            at_once: Whether or not it changed.
        """
        tf: Any = sys.modules.get("tensorflow")
        if tf is None or not self._is_on or not self._is_awake():
            return
        devices = tf.config.get_visible_devices("GPU")
        # Once it has begun, it can see no other ones.
        self._is_on = bool(devices)
        at_once = at_once or now - self._told_at >= EVERY_SECONDS
        for gpu, device in enumerate(devices):
            memory = _memory(tf, gpu)
            if memory is None:
                continue
            peak = float(memory["peak"])
            if not at_once and peak < MORE * self._peaks.get(gpu, 0.0):
                continue
            self._peaks[gpu], self._told_at = peak, now
            self._fit.recorder.record(
                facts.GpuAllocator(
                    wall_time=time.time(),
                    step=self._fit.recorder.progress.step,
                    training=self._fit.training,
                    gpu=gpu,
                    used_bytes=float(memory["current"]),
                    peak_bytes=peak,
                    limit_bytes=_limit_bytes(tf, device),
                )
            )

    def _is_awake(self) -> bool:
        """TensorFlow has begun to use devices: asking must not make it begin."""
        stepped = self._fit.recorder.progress.step > self._first_step
        return stepped or bool(getattr(self._fit.model, "variables", None))


def gpu_settings(tf: Any) -> dict[str, str | None]:
    """Settings of TensorFlow's GPUs, by their names in `events/settings.py`."""
    visible = tf.config.get_visible_devices("GPU")
    found: dict[str, str | None] = {
        "gpus": str(len(visible)),
        "gpus.physical": str(len(tf.config.list_physical_devices("GPU"))),
    }
    try:
        built = tf.sysconfig.get_build_info().get("is_cuda_build")
        found["gpus.cuda_build"] = None if built is None else str(bool(built))
    except _REFUSED:
        # A build that does not tell.
        pass
    if not visible:
        return found
    try:
        grows = tf.config.experimental.get_memory_growth(visible[0])
        found["gpus.memory_growth"] = str(bool(grows))
    except _REFUSED:
        # Devices split by the program have none.
        pass
    limit = _limit_bytes(tf, visible[0])
    found["gpus.memory_limit_bytes"] = None if limit is None else f"{limit:.0f}"
    return found


def _memory(tf: Any, gpu: int) -> dict[str, int] | None:
    """As in {"current": 7, "peak": 9}; None where it keeps no account."""
    try:
        told: dict[str, int] = tf.config.experimental.get_memory_info(f"GPU:{gpu}")
    except Exception:  # noqa: BLE001 - of TensorFlow's own classes, too
        return None
    return told if "current" in told and "peak" in told else None


def _limit_bytes(tf: Any, device: Any) -> float | None:
    """What the program set for the whole GPU; None if it did not."""
    try:
        parts = tf.config.get_logical_device_configuration(device) or ()
        limits = [part.memory_limit for part in parts]
    except _REFUSED:
        return None
    known = [float(limit) for limit in limits if limit]
    return sum(known) * _MIB if known and len(known) == len(limits) else None
