"""Real trainings beside a GPU that follows a script: raw material for `scrub.py`.

    python -m tests.runs.gpu_trainings NAME LOGDIR

The training, its watcher and `pynvml` are real; NVIDIA's library is the stand-in of
`tests/nvml`. A GPU's refusal cannot be caused without one, so `gpu_oom` raises what
TensorFlow would raise and logs what its allocator would log. Where a rule needs to know
that TensorFlow sees the GPU, `tf.config` says so.
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
from types import SimpleNamespace

import keras
import tensorflow as tf

from tests.nvml import GIB, build
from tests.runs.trainings import classes, classifier, fit

_SLOW_STEP_SECONDS = 0.04
_ASKED = (
    "OOM when allocating tensor with shape[256,64,128,128] and type float on "
    "/job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n"
    "\t [[{{node sequential/dense/MatMul}}]]"
)
_FAILED = (
    "could not synchronize on CUDA stream: CUDA_ERROR_ECC_UNCORRECTABLE: uncorrectable "
    "ECC error encountered"
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


class Failing(keras.Model):
    """Is told by CUDA that the card failed."""

    at = float("inf")

    def train_step(self, data):
        if time.monotonic() >= self.at:
            raise tf.errors.InternalError(None, None, _FAILED)
        time.sleep(_SLOW_STEP_SECONDS)
        return super().train_step(data)


class Refused(keras.Model):
    """Is refused memory at its 40th step."""

    used, reserved = 14 * GIB, 14 * GIB
    pieces: tuple[int, ...] = ()
    steps = 0

    def train_step(self, data):
        self.steps += 1
        if self.steps > 40:
            numbers = {"limit": 15 * GIB, "used": self.used, "reserved": self.reserved}
            for size in self.pieces:
                sys.stderr.write(
                    f"I bfc_allocator.cc:1083] Free  at 7f00 of size {size}\n"
                )
            sys.stderr.write(_LOGGED.format(**numbers))
            sys.stderr.flush()
            raise tf.errors.ResourceExhaustedError(None, None, _ASKED)
        time.sleep(0.2)
        return super().train_step(data)


def gpu_ecc(logdir: Path) -> None:
    """An error of memory that the driver reports and counts; CUDA tells the program."""
    scripted(logdir, "@20 0.xids=48", "@20 0.ecc=1", "@20 0.ecc_lifetime=3")
    Failing.at = time.monotonic() + 30
    plain = classifier()
    model = Failing(plain.inputs, plain.outputs)
    model.compile("adam", "sparse_categorical_crossentropy", run_eagerly=True)
    fit(model, logdir, 1_000)


def gpu_fault(logdir: Path) -> None:
    scripted(logdir, "@6 0.xids=79", "@7 0.memory_total=!15")
    long(logdir, 12)


def gpu_lost(logdir: Path) -> None:
    """It answers no more, and the driver sends no number."""
    scripted(logdir, "@8 0.memory_total=!15", gpu0_xids=None)
    long(logdir, 14)


def falling_clocks(logdir: Path) -> None:
    """A card that does not say why its clocks are low."""
    low = ["sm_clock=600", "power=90000"]
    scripted(logdir, *[f"@40 0.{word}" for word in low], gpu0_throttle=None)
    Slow.hot_at = time.monotonic() + 40
    long(logdir, 85)


def shared(logdir: Path) -> None:
    """Another program computes on the same GPU from some moment on."""
    with other_program(logdir) as pid:
        ours = os.getpid()
        scripted(
            logdir,
            f"@40 0.process_busy={ours}:50,{pid}:45",
            gpu0_processes=f"{ours}:{20 * GIB},{pid}:{4 * GIB}",
            gpu0_process_busy=f"{ours}:90",
        )
        Slow.hot_at = time.monotonic() + 40
        long(logdir, 65)


def starved(logdir: Path) -> None:
    """Batches take longer to make than to train on."""
    scripted(logdir, gpu0_busy=9, gpu0_memory_busy=2, gpu0_power=70_000)
    sees_gpu(6 * GIB)
    x, y = classes()

    def batches():
        for at in range(0, len(x), 32):
            time.sleep(0.05)
            yield x[at : at + 32], y[at : at + 32]

    signature = (
        tf.TensorSpec((None, x.shape[1]), "float32"),
        tf.TensorSpec((None,), y.dtype),
    )
    data = tf.data.Dataset.from_generator(batches, output_signature=signature)
    fit(classifier(), logdir, 30, data=(data, None))


def small_steps(logdir: Path) -> None:
    """The CPU hands out so little work at a time that the GPU waits for it."""
    scripted(logdir, gpu0_busy=14, gpu0_memory_busy=3, gpu0_power=80_000)
    sees_gpu(2 * GIB)
    long(logdir, 45)


def fragmented(logdir: Path) -> None:
    """More is free than was asked for, in pieces."""
    scripted(logdir, gpu0_memory_total=16 * GIB, gpu0_memory_used=15 * GIB)
    sees_gpu(11 * GIB)
    Refused.used, Refused.reserved = 11 * GIB, 14 * GIB
    Refused.pieces = (300 << 20, 640 << 20, 512 << 20)
    refused(logdir)


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


def sees_gpu(used_bytes: int) -> None:
    """From now on TensorFlow says that it sees a GPU, and what tensors take of it."""
    shown = {"GPU": [SimpleNamespace(name="/physical_device:GPU:0")]}
    real = tf.config.list_physical_devices
    tf.config.list_physical_devices = lambda kind=None: shown.get(kind) or real(kind)
    tf.config.get_visible_devices = tf.config.list_physical_devices
    memory = {"current": used_bytes, "peak": used_bytes}
    tf.config.experimental.get_memory_info = lambda device: memory


@contextlib.contextmanager
def other_program(logdir: Path) -> Iterator[int]:
    script = logdir.parent / "other_training.py"
    script.write_text("import time; time.sleep(600)\n")
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
    for one in (
        *(gpu_fault, gpu_ecc, gpu_lost, gpu_throttled, falling_clocks, shared),
        *(
            gpu_idle,
            starved,
            small_steps,
            gpu_oom,
            gpu_oom_other,
            fragmented,
            healthy_gpu,
        ),
    )
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
