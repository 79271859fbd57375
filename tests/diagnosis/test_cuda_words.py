"""Faults and missing parts of CUDA, in the words of several versions.

The versions beside them are those of public reports that have these words.
"""

import pytest

from tb_health_plugin.diagnosis.cuda_words import (
    Fault,
    cudnn_versions,
    fatal_words,
    fault,
    library_failed,
    missing_part,
)


@pytest.mark.parametrize(
    ("text", "kind", "by_program"),
    [
        # TensorFlow 0.7, 1.x and 2.2 to 2.11.
        (
            "Error polling for event status: failed to query event: "
            "CUDA_ERROR_ILLEGAL_ADDRESS",
            "illegal_address",
            True,
        ),
        (
            "could not synchronize on CUDA context: CUDA_ERROR_LAUNCH_FAILED: "
            "unspecified launch failure :: *** Begin stack trace ***",
            "launch_failed",
            True,
        ),
        # XLA in 1.14.
        (
            "Failed to complete all kernels launched on stream 0x1f50: could not "
            "synchronize on CUDA stream: CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory "
            "access was encountered",
            "illegal_address",
            True,
        ),
        (
            "failed to query event: CUDA_ERROR_MISALIGNED_ADDRESS: misaligned address",
            "illegal_address",
            True,
        ),
        (
            "Error polling for event status: failed to query event: "
            "CUDA_ERROR_ILLEGAL_INSTRUCTION",
            "illegal_instruction",
            True,
        ),
        # 2.x when the device is opened.
        (
            "failed call to cuDevicePrimaryCtxRetain: CUDA_ERROR_ECC_UNCORRECTABLE: "
            "uncorrectable ECC error encountered",
            "ecc",
            False,
        ),
        # CUDA's runtime, as PyTorch and JAX pass it on.
        ("CUDA error: uncorrectable ECC error encountered", "ecc", False),
        (
            "CUDA error: uncorrectable NVLink error detected during the execution",
            "nvlink",
            False,
        ),
        ("CUDA_ERROR_NVLINK_UNCORRECTABLE", "nvlink", False),
        ("CUDA error: device-side assert triggered", "assertion", True),
        # nvidia-smi and the kernel's log, in its two ways of writing.
        ("Unable to determine the device handle for GPU: GPU is lost.", "lost", False),
        ("NVRM: Xid (PCI:0000:10:00): 79, GPU has fallen off the bus", "lost", False),
        ("NVRM: Xid (PCI:0000:10:00): 48, pid=1896, DBE", "xid 48", False),
        ("NVRM: Xid (0000:03:00): 31, Ch 00000001", "xid 31", True),
        ("NVRM: Xid (PCI:0000:10:00): 119, pid=7, name=python, RPC", "xid 119", False),
    ],
)
def test_faults(text: str, kind: str, by_program: bool):
    assert fault(text) == Fault(kind, by_program)


@pytest.mark.parametrize(
    "text",
    [
        # At the end of a program that is well.
        "failed to query event: CUDA_ERROR_DEINITIALIZED: driver shutting down",
        # On a machine without a GPU.
        "failed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device",
        "failed call to cuInit: UNKNOWN ERROR (303)",
        "failed to query event: CUDA_ERROR_UNKNOWN: unknown error",
        "failed to alloc: CUDA_ERROR_OUT_OF_MEMORY: out of memory",
        # Somebody else has it: nothing failed.
        "Status: CUDA-capable device(s) is/are busy or unavailable",
        # Of the processor, of a switch, of nobody.
        "Illegal instruction (core dumped)",
        "nvidia-nvswitch0: SXid (PCI:0000:a7:00.0): 20034, Non-fatal, Link 30",
        "see the notes on Xid 79 and ECC errors",
        "GPU 0: NVLink is not supported",
    ],
)
def test_what_is_no_fault(text: str):
    assert fault(text) is None


@pytest.mark.parametrize(
    ("text", "part"),
    [
        # TensorFlow 2.9 to 2.13.
        ("INTERNAL: libdevice not found at ./libdevice.10.bc", "libdevice"),
        # 2.0; 2.2 to 2.12; XLA of 2024; 2.20.
        ("NOT_FOUND: ./bin/ptxas not found", "ptxas"),
        ("INTERNAL: Couldn't invoke ptxas --version", "ptxas"),
        ("NOT_FOUND: Couldn't find a suitable version of ptxas. The", "ptxas"),
        ("nvlink_path: Couldn't find a suitable version of nvlink.", "ptxas"),
        ("No PTX compilation provider is available. Neither ptxas", "ptxas"),
        # A driver that is too old for CUDA, or a ptxas for XLA.
        ("CUDA driver version is insufficient for CUDA runtime version", "versions"),
        ("failed with 'CUDA_ERROR_UNSUPPORTED_PTX_VERSION'", "versions"),
        ("the provided PTX was compiled with an unsupported toolchain.", "versions"),
        ("ptxas fatal: Unsupported .version 8.4; current version is '8.2'", "versions"),
        # Cards that TensorFlow was not built for: 2.3; 1.15; 2.16, 2.18 to 2.20.
        ("Internal: no kernel image is available for execution on the device", "card"),
        ("Failed to load PTX text as a module: CUDA_ERROR_INVALID_PTX: a PTX", "card"),
        ("'cuLaunchKernel(f, x)' failed with 'CUDA_ERROR_INVALID_HANDLE'", "card"),
        # 2.2 and 2.4; a report of 2025.
        ("Status: all CUDA-capable devices are busy or unavailable", "busy"),
        ("Status: CUDA-capable device(s) is/are busy or unavailable", "busy"),
    ],
)
def test_parts_that_are_missing(text: str, part: str):
    assert missing_part(text) == part


@pytest.mark.parametrize(
    "text",
    [
        # Warnings: TensorFlow goes on, and lets the driver compile.
        "Can't find ptxas binary in ${CUDA_DIR}/bin.  Will back to the GPU driver",
        "Can't find libdevice directory ${CUDA_DIR}/nvvm/libdevice.",
        "ptxas too old. Falling back to the driver to compile.",
        "Invoking GPU asm compilation is supported on Cuda non-Windows platforms only",
        "Could not load dynamic library 'libcudart.so.11.0'; dlerror: not found",
        "Linking with libdevice from: /usr/local/cuda/nvvm/libdevice/libdevice.10.bc",
        "CUDA_ERROR_INVALID_HANDLE: invalid resource handle",
        "the service is busy or unavailable",
    ],
)
def test_what_is_not_missing(text: str):
    assert missing_part(text) is None


@pytest.mark.parametrize(
    "text",
    [
        # TensorFlow 1.x to 2.3.
        "Could not create cudnn handle: CUDNN_STATUS_NOT_INITIALIZED",
        "Failed to get convolution algorithm. This is probably because cuDNN failed to "
        "initialize",
        # 2.5 to 2.12; 2.16 and later.
        "DNN library is not found.",
        "DNN library initialization failed. Look at the errors above for more details.",
        "No algorithm worked!  Error messages:",
        # 1.x and 2.x.
        "failed to create cublas handle: CUBLAS_STATUS_NOT_INITIALIZED",
        "attempting to perform BLAS operation using StreamExecutor without BLAS"
        " support",
    ],
)
def test_libraries_that_did_not_work(text: str):
    assert library_failed(text)


@pytest.mark.parametrize(
    "text",
    [
        "Loaded cuDNN version 90800",
        "Unable to register cuDNN factory: Attempting to register factory for plugin",
        "None of the algorithms provided by cuDNN frontend heuristics worked",
        "oneDNN custom operations are on.",
    ],
)
def test_libraries_that_are_well(text: str):
    assert library_failed(text) is None


def test_a_cudnn_that_is_not_the_one_it_was_built_with():
    logged = (
        "Loaded runtime CuDNN library: 8.0.5 but source was compiled with: 8.1.0.  Cu"
    )

    assert cudnn_versions(logged) == ("8.0.5", "8.1.0")
    assert cudnn_versions("Loaded cuDNN version 8100") is None


def test_where_tensorflow_gave_up():
    said = "W a.cc:1] careful\n2026-01-01 10:00:00.1: F b/c.cc:2] it is over\nAborted\n"

    assert fatal_words(said) == "it is over\nAborted\n"
    assert fatal_words("W a.cc:1] careful\nFinal loss: 3\n") == ""
