"""Real trainings beside a GPU that follows a script: raw material for `scrub.py`.

    python -m tests.runs.gpu_trainings NAME LOGDIR

The training, its watcher and `pynvml` are real; NVIDIA's library is the stand-in of
`tests/nvml`. A GPU's refusal cannot be caused without one, so `gpu_oom` raises what
TensorFlow would raise and logs what its allocator would log.
"""

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import keras
import tensorflow as tf

from tests.nvml import GIB, build
from tests.runs.trainings import classifier, fit

_SLOW_STEP_SECONDS = 0.04
_ASKED = (
    "OOM when allocating tensor with shape[256,64,128,128] and type float on "
    "/job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n"
    "\t [[{{node sequential/dense/MatMul}}]]"
)
_LOGGED = """\
W bfc_allocator.cc:497] Allocator (GPU_0_bfc) ran out of memory trying to allocate \
1.00GiB (rounded to 1073741824)requested by op sequential/dense/MatMul
I bfc_allocator.cc:1099] total_region_allocated_bytes_: {reserved}
I bfc_allocator.cc:1106] Stats:
Limit:            {limit}
InUse:            {used}
MaxInUse:         {used}
"""


class Slow(keras.Model):
    """Has steps as long as those of a real model, without work for the machine."""

    hot_at = float("inf")

    def wait(self) -> None:
        is_hot = time.monotonic() >= self.hot_at
        time.sleep(_SLOW_STEP_SECONDS * (1 + is_hot))

    def train_step(self, data):
        tf.numpy_function(self.wait, [], [])
        return super().train_step(data)


class Refused(keras.Model):
    """Is refused memory at its 40th step."""

    used, reserved = 14 * GIB, 14 * GIB
    steps = 0

    def train_step(self, data):
        self.steps += 1
        if self.steps > 40:
            numbers = {"limit": 15 * GIB, "used": self.used, "reserved": self.reserved}
            sys.stderr.write(_LOGGED.format(**numbers))
            sys.stderr.flush()
            raise tf.errors.ResourceExhaustedError(None, None, _ASKED)
        time.sleep(0.2)
        return super().train_step(data)


def gpu_fault(logdir: Path) -> None:
    scripted(logdir, "@6 0.xids=79", "@7 0.memory_total=!15")
    long(logdir, 12)


def gpu_throttled(logdir: Path) -> None:
    hot = ["throttle=32", "sm_clock=705", "temperature=92", "power=180000"]
    scripted(logdir, *[f"@30 0.{word}" for word in hot], gpu0_fan=100)
    Slow.hot_at = time.monotonic() + 30
    long(logdir, 50)


def gpu_idle(logdir: Path) -> None:
    idle = {"gpu0_busy": 0, "gpu0_memory_used": 0, "gpu0_sm_clock": 210}
    scripted(logdir, gpu0_state=8, gpu0_throttle=1, **idle)
    long(logdir, 50)


def gpu_oom(logdir: Path) -> None:
    scripted(logdir, gpu0_memory_total=16 * GIB, gpu0_memory_used=15 * GIB)
    refused(logdir)


def gpu_oom_other(logdir: Path) -> None:
    with other_program(logdir) as pid:
        scripted(
            logdir,
            gpu0_memory_total=16 * GIB,
            gpu0_memory_used=16 * GIB - 1,
            gpu0_processes=f"{os.getpid()}:{6 * GIB},{pid}:{9 * GIB}",
        )
        Refused.used, Refused.reserved = 5 * GIB, 5 * GIB
        refused(logdir)


def healthy_gpu(logdir: Path) -> None:
    scripted(logdir, "@9 0.throttle=4", "@9 0.sm_clock=1300", gpu0_fan=55)
    long(logdir, 45)


def scripted(logdir: Path, *later: str, **changes: object) -> None:
    """From now on a watcher finds this GPU."""
    folder = logdir.parent / f"{logdir.name}-nvml"
    folder.mkdir()
    build(folder).says(*later, **changes)
    os.environ["LD_LIBRARY_PATH"] = str(folder)


@contextlib.contextmanager
def other_program(logdir: Path) -> Iterator[int]:
    script = logdir.parent / "other_training.py"
    script.write_text("import time; time.sleep(120)\n")
    # A child of a shell that is gone: what the training starts would be its own.
    command = f"{sys.executable} {script} > /dev/null 2>&1 & echo $!"
    told = subprocess.run(["sh", "-c", command], check=True, stdout=subprocess.PIPE)
    pid = int(told.stdout)
    try:
        yield pid
    finally:
        os.kill(pid, signal.SIGKILL)


def long(logdir: Path, seconds: float) -> None:
    plain = classifier()
    model = Slow(plain.inputs, plain.outputs)
    loss = "sparse_categorical_crossentropy"
    model.compile("adam", loss, jit_compile=False)
    # 32 steps in an epoch of 1,024 rows.
    epochs = int(seconds / (32 * _SLOW_STEP_SECONDS)) + 1
    fit(model, logdir, epochs=epochs)


def refused(logdir: Path) -> None:
    plain = classifier()
    model = Refused(plain.inputs, plain.outputs)
    model.compile("adam", "sparse_categorical_crossentropy", run_eagerly=True)
    fit(model, logdir, batch_size=256)


TRAININGS = {
    one.__name__: one
    for one in (gpu_fault, gpu_throttled, gpu_idle, gpu_oom, gpu_oom_other, healthy_gpu)
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("name", choices=sorted(TRAININGS))
    parser.add_argument("logdir", type=Path)
    options = parser.parse_args()
    keras.utils.set_random_seed(1)
    logdir = options.logdir.resolve()
    logdir.mkdir(parents=True)
    TRAININGS[options.name](logdir)
    return 0


if __name__ == "__main__":
    sys.exit(main())
