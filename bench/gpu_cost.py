"""What does a sample of the GPUs cost the watcher?

On the stand-in of `tests/nvml`: `pynvml`, our code and the call into a library are
real; how long a real driver takes to answer is not in it.
"""

import ctypes
import os
import tempfile
import time
from pathlib import Path

from bench.measuring import Result
from tb_health_plugin.collectors.collector import Watched
from tb_health_plugin.collectors.gpu import NvidiaGpus
from tests.nvml import HEALTHY, build

# Two rounds of what is asked rarely.
SAMPLES = 60
DEVICES = (1, 8)
# What a sample may cost, per device.
BUDGET_MS = 2.0


def ask(rounds: int) -> list[Result]:
    with tempfile.TemporaryDirectory() as folder:
        standin = build(Path(folder))
        ctypes.CDLL(str(standin.library), mode=ctypes.RTLD_GLOBAL)
        numbers = {}
        for devices in DEVICES:
            standin.says(**_cards(devices))
            own = [_sample_ms(devices) for _ in range(rounds)]
            mean, worst = (min(part) for part in zip(*own, strict=True))
            what = "1 GPU" if devices == 1 else f"{devices} GPUs"
            numbers[f"{what}: mean of {SAMPLES} samples"] = mean
            numbers[f"{what}: the slowest sample"] = worst
    question = f"A sample of the GPUs on the stand-in, CPU per GPU (budget {BUDGET_MS})"
    return [Result(question, "ms, best round", numbers, {})]


def _cards(devices: int) -> dict[str, object]:
    cards: dict[str, object] = {"devices": devices}
    for gpu in range(devices):
        for key, value in HEALTHY.items():
            if key.startswith("0."):
                cards[key.replace("0.", f"gpu{gpu}_", 1)] = value
        cards[f"gpu{gpu}_uuid"] = f"GPU-{gpu}"
    return cards


def _sample_ms(devices: int) -> tuple[float, float]:
    """Mean and slowest sample, in CPU time: other programs must not count."""
    collector = NvidiaGpus(Watched(pid=os.getppid()))
    spent = []
    for _ in range(SAMPLES):
        began = time.process_time()
        collector.collect()
        spent.append((time.process_time() - began) * 1e3 / devices)
    return sum(spent) / len(spent), max(spent)


if __name__ == "__main__":
    for result in ask(3):
        print(result)
