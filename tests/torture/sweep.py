"""Many short trainings in a row in one process, as a sweep does it.

`python -m tests.torture.sweep LOGDIR COUNT [--keras]` prints a line of JSON for each
hundredth of them: what the process holds at that moment. Without `--keras` a training
is the recorder alone, with its steps and facts; with it, a real `fit` of three steps.
"""

import argparse
import gc
import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

from tb_health_plugin.events import facts
from tb_health_plugin.recording.attempts import attempt_for
from tb_health_plugin.writing.phases import Phase
from tests.watching.conftest import watchers

STEPS = 3
# The last training goes on until the next one begins: one thread and one watcher.
AT_REST = 1
SETTLED_WITHIN_SECONDS = 60.0


class _Open:
    """A training of the recorder alone."""

    def process_ends(self, end: object) -> None:
        """It never is under way then."""

    def cell_failed(self, end: object) -> None:
        """There are no cells."""


def recorder_alone(logdir: Path) -> None:
    attempt, training = attempt_for(logdir), _Open()
    recorder = attempt.recorder
    attempt.opened(training)
    attempt.trainings += 1
    begun = facts.TrainingStarted(
        wall_time=time.time(), training=0, planned_epochs=1, planned_steps_per_epoch=3
    )
    recorder.record(begun)
    recorder.enter(Phase.TRAINING)
    for _ in range(STEPS):
        recorder.progress.step += 1
        recorder.publish()
    recorder.enter(Phase.NOT_TRAINING)
    recorder.record(
        facts.TrainingEnded(
            wall_time=time.time(),
            step=STEPS,
            training=0,
            last_step=STEPS,
            epochs_done=1,
        )
    )
    attempt.closed(training, None)


def keras_fit() -> Callable[[Path], None]:
    import keras
    import numpy as np

    from tb_health_plugin import HealthCallback

    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    x = np.linspace(0, 1, 8 * STEPS * 4, dtype="float32").reshape(-1, 4)

    def train(logdir: Path) -> None:
        model.fit(
            x, x[:, :1], batch_size=8, verbose=0, callbacks=[HealthCallback(logdir)]
        )

    return train


def held(logs: Path) -> dict[str, float]:
    """What the process holds, once what ends with a training has ended."""
    deadline = time.monotonic() + SETTLED_WITHIN_SECONDS
    while time.monotonic() < deadline and _is_restless(logs):
        time.sleep(0.1)
    gc.collect()
    lines = Path("/proc/self/status").read_text().splitlines()
    resident = next(line for line in lines if line.startswith("VmRSS"))
    return {
        "memory_mib": int(resident.split()[1]) / 1024,
        "descriptors": len(os.listdir("/proc/self/fd")),
        "threads": threading.active_count(),
        "watchers": len(watchers(logs)),
    }


def _is_restless(logs: Path) -> bool:
    threads = [t for t in threading.enumerate() if t.name == "training-health"]
    return len(threads) > AT_REST or len(watchers(logs)) > AT_REST


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("logs", type=Path)
    parser.add_argument("count", type=int)
    parser.add_argument("--keras", action="store_true")
    options = parser.parse_args()
    train = keras_fit() if options.keras else recorder_alone
    for number in range(1, options.count + 1):
        train(options.logs / f"trial_{number:04}")
        if number % max(1, options.count // 10) == 0:
            print(json.dumps({"trainings": number, **held(options.logs)}), flush=True)


if __name__ == "__main__":
    main()
