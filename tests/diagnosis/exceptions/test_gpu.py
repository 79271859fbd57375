"""Faults that CUDA reports through an exception, and what only names a GPU."""

import pytest

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
    ("message", "detail", "code"),
    [
        (
            "libdevice not found at ./libdevice.10.bc",
            "cuda_libdevice",
            'pip install "tensorflow[and-cuda]"',
        ),
        ("Couldn't invoke ptxas", "cuda_ptxas", 'pip install "tensorflow[and-cuda]"'),
        (
            "CUDA driver version is insufficient for CUDA runtime version",
            "cuda_versions",
            "nvidia-smi | head -n 4",
        ),
    ],
)
def test_parts_of_cuda_are_missing(message: str, detail: str, code: str):
    told = raised("InternalError", in_graph(message))

    assert (told.verdict.id, told.verdict.detail) == ("code_error", detail)
    assert told.chip == "CUDA incomplete"
    assert told.verdict.fixes[0].code == code


def test_a_library_that_did_not_start_has_two_usual_causes():
    message = "Could not create cudnn handle: CUDNN_STATUS_NOT_INITIALIZED"
    told = raised("UnknownError", in_graph(message))

    assert told.verdict.detail == "cuda_libraries"
    assert told.verdict.confidence == "likely"
    assert "set_memory_growth" in told.verdict.fixes[0].code
    assert len(told.verdict.fixes) == 2


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
    ],
)
def test_what_only_names_it(exception: str, message: str):
    told = raised(exception, message)

    assert told.verdict.id == "code_error"
    assert not (told.verdict.detail or "").startswith("cuda_")
