"""What TensorFlow, XLA and CUDA say when a GPU fails, or a part of CUDA is missing.

Wordings of TensorFlow 1.x to 2.2x, as public reports have them.
"""

import re
from dataclasses import dataclass

from tb_health_plugin.diagnosis.xids import XIDS

# What a GPU or its driver says of a fault, and whether a program can cause it, too.
_FAULTS = (
    (r"CUDA_ERROR_ECC_UNCORRECTABLE|uncorrectable ECC error", "ecc", False),
    (r"GPU is lost|fallen off the bus", "lost", False),
    (r"CUDA_ERROR_NVLINK_UNCORRECTABLE|uncorrectable NVLink error", "nvlink", False),
    (r"CUDA_ERROR_HARDWARE_STACK_ERROR|hardware stack error", "hardware", False),
    (r"CUDA_ERROR_ILLEGAL_ADDRESS|illegal memory access", "illegal_address", True),
    (r"CUDA_ERROR_MISALIGNED_ADDRESS|misaligned address", "illegal_address", True),
    (r"CUDA_ERROR_ILLEGAL_INSTRUCTION", "illegal_instruction", True),
    (r"CUDA_ERROR_ASSERT|device-side assert", "assertion", True),
    (r"CUDA_ERROR_LAUNCH_TIMEOUT", "timeout", True),
    (r"CUDA_ERROR_LAUNCH_FAILED|unspecified launch failure", "launch_failed", True),
)
_XID = re.compile(r"NVRM: Xid \([^)]*\): (?P<code>\d+)")

# Parts of CUDA that TensorFlow or XLA could not find or use, the surest first.
_MISSING = (
    (r"libdevice not found at|libdevice is required .{0,40}not found", "libdevice"),
    (r"CUDA_ERROR_UNSUPPORTED_PTX_VERSION|compiled with an unsupported toolchain"
     r"|driver version is insufficient for CUDA runtime"
     r"|Unsupported \.version [\d.]+; current version is"
     r"|ptxas [\d.]+ has a bug that we think", "versions"),
    (r"no kernel image is available|CUDA_ERROR_NO_BINARY_FOR_GPU"
     r"|CUDA_ERROR_INVALID_PTX"
     r"|'cuLaunchKernel\([^']*' failed with 'CUDA_ERROR_INVALID_HANDLE", "card"),
    (r"ptxas not found|Couldn't invoke ptxas|Failed to launch ptxas"
     r"|No PTX compilation provider is available"
     r"|Couldn't find a suitable version of (?:ptxas|nvlink)", "ptxas"),
    (r"CUDA-capable device(?:s are|\(s\) is/are) busy or unavailable"
     r"|CUDA_ERROR_DEVICE_UNAVAILABLE", "busy"),
)  # fmt: skip
_LIBRARY = re.compile(
    r"CUDNN_STATUS_NOT_INITIALIZED|CUDNN_STATUS_INTERNAL_ERROR"
    r"|CUBLAS_STATUS_NOT_INITIALIZED|cuDNN failed to initialize"
    r"|DNN library (?:is not found|initialization failed)|No DNN in stream executor"
    r"|without BLAS support|No algorithm worked",
    re.IGNORECASE,
)
_CUDNN = re.compile(
    r"Loaded runtime CuDNN library: (?P<loaded>[\d.]+) but source was compiled with: "
    r"(?P<needed>\d+(?:\.\d+)*)"
)
# A line with which TensorFlow ends a process by itself, as it and absl write it.
_FATAL = re.compile(r"(?:^|: )F(?:\d{4})? .*\.(?:cc|h|cu):\d+\] ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of a GPU, or of what ran on it."""

    kind: str
    by_program: bool


def fault(text: str) -> Fault | None:
    """The first fault in the order of how much it says; None if there is none."""
    for pattern, kind, by_program in _FAULTS:
        if re.search(pattern, text):
            return Fault(kind, by_program)
    xid = _XID.search(text)
    if xid is None:
        return None
    known = XIDS.get(int(xid["code"]))
    return Fault(f"xid {xid['code']}", known is not None and known.by_program)


def missing_part(text: str) -> str | None:
    """What could not be found or does not fit; None if that is not said.

    Returns:
        "libdevice", "ptxas", "versions" (driver, CUDA and TensorFlow do not fit),
        "card" (no code for this model) or "busy" (somebody else has the GPU).
    """
    for pattern, part in _MISSING:
        if re.search(pattern, text, re.IGNORECASE):
            return part
    return None


def library_failed(text: str) -> str | None:
    """The words with which cuDNN or cuBLAS did not work; None if they did."""
    found = _LIBRARY.search(text)
    return found[0] if found else None


def cudnn_versions(logged: str) -> tuple[str, str] | None:
    """The version of cuDNN that was loaded, and the one it had to be."""
    found = _CUDNN.search(logged)
    return (found["loaded"], found["needed"]) if found else None


def fatal_words(said: str) -> str:
    """From the line on with which TensorFlow gave up; empty if it did not."""
    found = list(_FATAL.finditer(said))
    return said[found[-1].end() :] if found else ""
