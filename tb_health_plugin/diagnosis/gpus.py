"""What rules about GPUs share: which were measured, their names, moments of a run."""

from collections.abc import Iterator

import numpy as np

from tb_health_plugin.diagnosis.case import Case
from tb_health_plugin.diagnosis.verdict import Moment
from tb_health_plugin.events import facts
from tb_health_plugin.events.columns import MOST_GPUS


def measured_gpus(case: Case) -> Iterator[int]:
    """Places of the GPUs of which there are any numbers."""
    names = case.samples.names
    for gpu in range(MOST_GPUS):
        if any(name.startswith(f"gpu{gpu}_") for name in names):
            yield gpu


def named(case: Case, gpu: int) -> str:
    """As in "GPU 0 (NVIDIA A100-SXM4-40GB)"."""
    model = case.start.settings.get(f"gpu.{gpu}.name") if case.start else None
    return f"GPU {gpu} ({model})" if model else f"GPU {gpu}"


def label(case: Case, gpu: int) -> str:
    """What `nvidia-smi -i` knows it by: its UUID, if that is known."""
    uuid = case.start.settings.get(f"gpu.{gpu}.uuid") if case.start else None
    return uuid or str(gpu)


def strangers(case: Case, gpu: int) -> list[facts.GpuShared]:
    """Processes of others that were seen on it, the one that held most first."""
    found = [one for one in case.attempt.all(facts.GpuShared) if one.gpu == gpu]
    return sorted(found, key=lambda one: -(one.memory_bytes or 0.0))


def moment(case: Case, wall_time: float) -> Moment:
    """The place in the run at that time."""
    times, steps = case.series("step")
    if not len(times):
        return Moment(wall_time=wall_time)
    step = int(np.interp(wall_time, times, steps))
    epoch = case.training.epoch_of(step) if case.training else None
    return Moment(
        step=step, epoch=None if epoch is None else epoch + 1, wall_time=wall_time
    )
