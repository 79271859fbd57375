"""Aborts that have a cause, and aborts that are all there is."""

import signal

import numpy as np
import pytest

from tb_health_plugin.diagnosis.story import tell
from tb_health_plugin.diagnosis.verdict import Story
from tb_health_plugin.events import facts
from tb_health_plugin.reading.liveness import Life
from tb_health_plugin.reading.run_history import Attempt

GONE = Life(alive=False, because="Process 1 is gone.")
NO_THREAD = (
    "2026-01-01 F external/local_tsl/tsl/platform/default/env.cc:74] Check failed: "
    "ret == 0 (11 vs. 0)Thread tf_data_private_threadpool creation via "
    "pthread_create() failed.\nAborted (core dumped)\n"
)


def story(number: int = signal.SIGABRT, output: str | None = None, **columns) -> Story:
    attempt = Attempt("a")
    if columns:
        attempt.samples.append(
            {
                "wall_time": np.asarray([1.0, 2.0, 3.0]),
                **{name: np.asarray(values) for name, values in columns.items()},
            }
        )
    attempt.add(facts.RunStarted(wall_time=1.0, pid=1))
    attempt.add(facts.TrainingStarted(wall_time=2.0, training=0, planned_epochs=3))
    attempt.add(
        facts.ProcessEnded(
            wall_time=9.0, step=1_234, signal=int(number), output_tail=output
        )
    )
    return tell(attempt, GONE)


def test_no_thread_could_be_made():
    told = story(output=NO_THREAD)

    assert (told.verdict.id, told.verdict.detail) == ("handle_limit", "threads")
    assert told.verdict.confidence == "possible"
    assert "pthread_create" in told.verdict.evidence[0].text


def test_the_kernel_refused_threads():
    told = story(
        cgroup_pids_used=[50.0, 90.0, 100.0],
        cgroup_pids_limit=[100.0] * 3,
        cgroup_pids_denied=[0.0, 0.0, 3.0],
    )

    assert (told.verdict.id, told.verdict.detail) == ("handle_limit", "threads")


def test_both_together_prove_it():
    told = story(output=NO_THREAD, cgroup_pids_denied=[0.0, 0.0, 1.0])

    assert told.verdict.confidence == "proven"


def test_no_memory():
    told = story(
        output="terminate called after throwing an instance of 'std::bad_alloc'\n"
        "  what():  std::bad_alloc\n"
    )

    assert told.verdict.id == "alloc_failure"


def test_no_file():
    told = story(
        process_fds=[100.0, 200.0, 256.0], process_fd_limit=[256.0, 256.0, 256.0]
    )

    assert (told.verdict.id, told.verdict.detail) == ("handle_limit", "files")


POLLED = "E cuda_event.cc:29] Error polling for event status: failed to query event: "


@pytest.mark.parametrize(
    ("said", "detail", "confidence"),
    [
        (f"{POLLED}CUDA_ERROR_ILLEGAL_ADDRESS: illegal", "illegal_address", "likely"),
        (f"{POLLED}CUDA_ERROR_LAUNCH_FAILED: unspecified", "launch_failed", "likely"),
        (f"{POLLED}CUDA_ERROR_ECC_UNCORRECTABLE: bad", "ecc", "proven"),
    ],
)
def test_a_gpu_that_failed(said: str, detail: str, confidence: str):
    told = story(
        output=f"{said}\nF gpu_event_mgr.cc:274] Unexpected Event status: 1\nAborted\n"
    )

    assert (told.verdict.id, told.verdict.detail) == ("gpu_fault", detail)
    assert told.verdict.confidence == confidence
    assert "CUDA_ERROR" in told.verdict.evidence[0].text


@pytest.mark.parametrize(
    ("said", "detail"),
    [
        # TensorFlow of 2023.
        (
            "2023-09-12 22:07:26.524036: F tensorflow/compiler/xla/service/gpu/"
            "nvptx_compiler.cc:492] ptxas returned an error during compilation of ptx "
            "to sass: 'INTERNAL: ptxas exited with non-zero error code 65280, output: "
            "ptxas tempfile, line 5; fatal   : Unsupported .version 7.1; current "
            "version is '7.0'",
            "cuda_versions",
        ),
        # 2.3, on a card that is too old for it.
        (
            "F ./tensorflow/core/kernels/random_op_gpu.h:232] Non-OK-status: "
            "GpuLaunchKernel(Fill) status: Internal: no kernel image is available for "
            "execution on the device",
            "cuda_card",
        ),
        # 2.15; the line as absl writes it in 2.20.
        (
            "F0000 00:00:1748720218.610720      27 nvptx_compiler.cc:619] ptxas "
            "returned an error: 'INTERNAL: ptxas 12.3.103 has a bug that we think can "
            "affect XLA. Please use a different version.'",
            "cuda_versions",
        ),
    ],
)
def test_a_part_of_cuda_that_does_not_fit(said: str, detail: str):
    told = story(output=f"{said}\nAborted (core dumped)\n")

    assert (told.verdict.id, told.verdict.detail) == ("code_error", detail)
    assert told.verdict.evidence[0].text.startswith("Its last words: ")


def test_a_part_that_is_missing_and_was_done_without():
    """TensorFlow warns and lets the driver compile; the abort came from elsewhere."""
    told = story(
        output="W redzone_allocator.cc:322] INTERNAL: Couldn't invoke ptxas --version\n"
        "Relying on driver to perform ptx compilation.\nfree(): invalid pointer\n"
    )

    assert told.verdict.id == "native_crash"


def test_a_gpu_without_memory():
    told = story(
        output="failed to allocate 1.2G (1288490188 bytes) from device: "
        "CUDA_ERROR_OUT_OF_MEMORY: out of memory\nF dnn.cc:1] Check failed\nAborted\n"
    )

    assert told.verdict.id == "gpu_oom"


def test_a_gpu_that_was_full_long_before_is_not_why():
    early = "failed to allocate 1.2G from device: CUDA_ERROR_OUT_OF_MEMORY\n"
    told = story(output=early + "step done\n" * 30 + "free(): invalid pointer\n")

    assert told.verdict.id == "native_crash"


@pytest.mark.parametrize(
    ("number", "output"),
    [
        (signal.SIGABRT, None),
        (signal.SIGSEGV, f"{POLLED}CUDA_ERROR_ILLEGAL_ADDRESS"),
        (signal.SIGABRT, "free(): double free detected in tcache 2\n"),
        (signal.SIGSEGV, "terminate called after std::bad_alloc"),
        (signal.SIGBUS, NO_THREAD),
    ],
)
def test_a_plain_crash(number: int, output: str | None):
    assert story(number, output).verdict.id == "native_crash"


def test_a_crash_far_from_every_limit():
    told = story(
        cgroup_pids_used=[50.0, 51.0, 52.0],
        cgroup_pids_limit=[100.0] * 3,
        cgroup_pids_denied=[4.0, 4.0, 4.0],
        process_fds=[20.0, 20.0, 20.0],
        process_fd_limit=[256.0] * 3,
    )

    assert told.verdict.id == "native_crash"


def test_a_kill_is_none():
    assert story(signal.SIGKILL, NO_THREAD).verdict.id == "killed_outside"
