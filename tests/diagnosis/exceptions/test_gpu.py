"""Faults that CUDA reports through an exception, and what only names a GPU."""

import pytest

from tb_health_plugin.events import facts
from tests.diagnosis.exceptions.raising import in_graph, raised

ILLEGAL = (
    "Failed to query event: CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was "
    "encountered"
)


def test_the_card():
    told = raised("InternalError", in_graph("CUDA_ERROR_ECC_UNCORRECTABLE: bad memory"))

    assert (told.verdict.id, told.verdict.detail) == ("gpu_fault", "ecc")
    assert told.verdict.confidence == "proven"
    assert "reset" in told.verdict.fixes[0].code


def test_a_program_may_have_caused_it():
    told = raised("InternalError", in_graph(ILLEGAL))

    assert (told.verdict.id, told.verdict.detail) == ("gpu_fault", "illegal_address")
    assert told.verdict.confidence == "likely"
    assert "sanitizer" in told.verdict.fixes[0].code


@pytest.mark.parametrize(
    ("exception", "message", "detail", "fix"),
    [
        # TensorFlow 2.9 to 2.13.
        (
            "InternalError",
            "libdevice not found at ./libdevice.10.bc",
            "cuda_libdevice",
            "and-cuda",
        ),
        # 2.0, 2.6 and 2.20.
        ("NotFoundError", "./bin/ptxas not found", "cuda_ptxas", "and-cuda"),
        ("InternalError", "Failed to launch ptxas", "cuda_ptxas", "and-cuda"),
        (
            "UnavailableError",
            "No PTX compilation provider is available. Neither ptxas/nvlink nor "
            "nvjtlink is available.",
            "cuda_ptxas",
            "and-cuda",
        ),
        (
            "InternalError",
            "CUDA driver version is insufficient for CUDA runtime version",
            "cuda_versions",
            "nvidia-smi | head -n 4",
        ),
        # 2.16 and 2.18 to 2.20, on cards that came out later.
        (
            "InternalError",
            "'cuLaunchKernel(function, gridX, gridY, gridZ, blockX, blockY, blockZ, 0, "
            "reinterpret_cast<CUstream>(stream), params, nullptr)' failed with "
            "'CUDA_ERROR_INVALID_HANDLE'",
            "cuda_card",
            "compute_cap",
        ),
        # 2.2 and 2.4.
        (
            "InternalError",
            "CUDA runtime implicit initialization on GPU:0 failed. Status: all "
            "CUDA-capable devices are busy or unavailable",
            "cuda_busy",
            "nvidia-smi -q -d COMPUTE",
        ),
    ],
)
def test_parts_of_cuda_are_missing(exception: str, message: str, detail: str, fix: str):
    told = raised(exception, in_graph(message))

    assert (told.verdict.id, told.verdict.detail) == ("code_error", detail)
    assert fix in told.verdict.fixes[0].code
    assert len(told.headline) <= 100


def test_a_library_that_did_not_start_has_two_usual_causes():
    message = "Could not create cudnn handle: CUDNN_STATUS_NOT_INITIALIZED"
    told = raised("UnknownError", in_graph(message))

    assert told.verdict.detail == "cuda_libraries"
    assert told.verdict.confidence == "likely"
    assert "set_memory_growth" in told.verdict.fixes[0].code
    assert len(told.verdict.fixes) == 2


def test_another_cudnn_was_loaded():
    logged = (
        "E0000 00:00:1 27 cuda_dnn.cc:463] Loaded runtime CuDNN library: 9.1.0 but "
        "source was compiled with: 9.3.0.  CuDNN library needs to have matching major "
        "version and equal or higher minor version.\n"
    )
    end = facts.ProcessEnded(wall_time=10.0, step=1_234, output_tail=logged)
    message = "DNN library initialization failed. Look at the errors above."

    told = raised("FailedPreconditionError", in_graph(message), after=[end])

    assert told.verdict.detail == "cuda_versions"
    assert told.verdict.confidence == "proven"
    assert "9.3.0" in told.verdict.fixes[0].title
    assert told.verdict.fixes[0].code == (
        'pip install --upgrade "nvidia-cudnn-cu12>=9.3.0"'
    )


def test_cuda_comes_with_the_same_tensorflow():
    told = raised(
        "NotFoundError",
        "./bin/ptxas not found",
        settings={"tensorflow": "2.19.0"},
        program="tune.py",
    )

    assert [fix.code for fix in told.verdict.fixes] == [
        'pip install "tensorflow[and-cuda]==2.19.0"',
        "XLA_FLAGS=--xla_gpu_cuda_data_dir=/usr/local/cuda python tune.py",
    ]


@pytest.mark.parametrize(
    ("exception", "message"),
    [
        ("ValueError", "CUDA_ERROR_ILLEGAL_ADDRESS is what you get if you do this"),
        ("KeyError", "'GPU is lost'"),
        ("AssertionError", "CUDA out of memory handling must be on"),
        ("FileNotFoundError", "[Errno 2] No such file: 'libdevice.10.bc'"),
        ("RuntimeError", "Physical devices cannot be modified after being initialized"),
        ("ResourceExhaustedError", "Received message larger than max (9 vs. 4)"),
        ("InvalidArgumentError", "Cannot assign a device for operation MatMul: GPU:3"),
        ("InternalError", "cuModuleUnload failed with CUDA_ERROR_DEINITIALIZED"),
        ("NotFoundError", "/data/ptxas/a.tfrecord; No such file or directory"),
        ("NotFoundError", "No algorithm named 'adam' is registered"),
        ("UnavailableError", "the bucket is busy or unavailable"),
    ],
)
def test_what_only_names_it(exception: str, message: str):
    told = raised(exception, message)

    assert told.verdict.id == "code_error"
    assert not (told.verdict.detail or "").startswith("cuda_")
