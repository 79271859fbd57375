"""What TensorFlow, XLA and CUDA's libraries say when a GPU refuses or fails.

Wordings of TensorFlow 1.x to 2.2x. Its allocator writes most of it to standard error,
the exception repeats a part.
"""

import math
import re
from dataclasses import dataclass

_UNITS = {"K": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}
_TYPE_BYTES = {
    "half": 2,
    "float16": 2,
    "bfloat16": 2,
    "float": 4,
    "float32": 4,
    "double": 8,
    "int8": 1,
    "uint8": 1,
    "bool": 1,
    "int16": 2,
    "int32": 4,
    "int64": 8,
    "complex64": 8,
    "complex128": 16,
}

_TENSOR = re.compile(
    r"OOM when allocating tensor with shape ?\[(?P<shape>[\d,]*)\]"
    r"(?: and type (?P<type>\w+) on (?P<device>\S+))?",
    re.IGNORECASE,
)
# "7.81G (8387559424 bytes)" and "2.00GiB (2147483648B)": the exact one is in brackets.
_SIZE = (
    r"(?P<number>\d+(?:\.\d*)?)\s*(?P<unit>[KMGTPE]?i?B|[KMGT]|bytes)\b"
    r"(?:\s*\((?P<exact>\d+) ?(?:B|bytes)\))?"
)
_ASKED = re.compile(
    r"(?:trying to allocate|tried to allocate|cuMemAllocAsync failed to allocate"
    r"|failed to alloc(?:ate)?(?: request for)?)\s+" + _SIZE,
    re.IGNORECASE,
)
# What the allocator logs. A try that may fail says so, and is no refusal.
_RAN_OUT = re.compile(
    r"Allocator \((?P<allocator>\w+)\) ran out of memory trying to allocate "
    r"(?P<number>\d+(?:\.\d*)?)\s*(?P<unit>[KMGT]?i?B)"
    r"(?: \(rounded to (?P<exact>\d+)\))?(?:\s*requested by op (?P<op>[^\s]+))?"
    r"(?P<rest>[^\n]*)"
)
_NO_FAILURE = "not a failure"
_POOL = re.compile(
    r"Limit:\s+(?P<limit>\d+)\s*\n\s*InUse:\s+(?P<used>\d+)"
    r"(?:\s*\n\s*MaxInUse:\s+(?P<peak>\d+))?"
    r"(?:.{0,300}?LargestFreeBlock:\s+(?P<largest>\d+))?",
    re.DOTALL,
)
_REGION = re.compile(r"total_region_allocated_bytes_: (?P<reserved>\d+)")
_FREE_CHUNK = re.compile(r"\] Free\s+at \w+ of size (\d+)")
# The asynchronous allocator asks the driver.
_FREE_OF_TOTAL = re.compile(r"Free memory/Total memory: (?P<free>\d+)/(?P<total>\d+)")

# Of the machine, though CUDA asked for it: memory that a GPU can reach.
_PINNED = re.compile(
    r"bytes on host: CUDA_ERROR_OUT_OF_MEMORY|pinned host memory", re.IGNORECASE
)
_GPU_REFUSED = re.compile(
    r"CUDA_ERROR_OUT_OF_MEMORY|CU(?:DNN|BLAS|SOLVER|FFT|SPARSE)_STATUS_ALLOC_FAILED"
    r"|CUDA out of memory|HIP out of memory|Dst tensor is not initialized"
    r"|/device:GPU:\d+\S* by allocator|by allocator GPU_|gpu_async_\d",
    re.IGNORECASE,
)

# What a GPU or its driver says of a fault, and whether a program can cause it, too.
_FAULTS = (
    (r"CUDA_ERROR_ECC_UNCORRECTABLE|uncorrectable ECC error", "ecc", False),
    (r"GPU is lost|fallen off the bus|CUDA_ERROR_DEVICE_UNAVAILABLE", "lost", False),
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

# Parts of CUDA that TensorFlow or XLA could not find or use.
_MISSING = (
    (r"libdevice not found|libdevice\.10\.bc", "libdevice"),
    (r"ptxas\b.{0,40}not found|Couldn't (?:invoke|get) ptxas|No PTX compilation prov"
     r"|Couldn't find a suitable version of ptxas", "ptxas"),
    (r"CUDA_ERROR_UNSUPPORTED_PTX_VERSION|CUDA_ERROR_NO_BINARY_FOR_GPU"
     r"|driver version is insufficient for CUDA runtime", "versions"),
)  # fmt: skip
_LIBRARY = re.compile(
    r"CUDNN_STATUS_NOT_INITIALIZED|CUDNN_STATUS_INTERNAL_ERROR"
    r"|CUBLAS_STATUS_NOT_INITIALIZED|cuDNN failed to initialize"
    r"|DNN library (?:is not found|initialization failed)|No DNN in stream executor"
    r"|without BLAS support",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Memory that was asked for and not given, as far as it was said.

    Attributes:
        asked_bytes: How much.
        on_gpu: Of a GPU; None if that was not said.
        gpu: Which one, as TensorFlow counts.
        op: The operation that asked.
        limit_bytes: What TensorFlow's pool may have at most.
        used_bytes: What tensors held of it.
        reserved_bytes: What it had got from the GPU.
        free_bytes: What the driver said is free.
        largest_bytes: The largest free piece.
    """

    asked_bytes: float | None = None
    on_gpu: bool | None = None
    gpu: int | None = None
    op: str | None = None
    limit_bytes: float | None = None
    used_bytes: float | None = None
    reserved_bytes: float | None = None
    free_bytes: float | None = None
    largest_bytes: float | None = None


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of a GPU, or of what ran on it."""

    kind: str
    by_program: bool


def refusal(said: str, logged: str = "") -> Refusal:
    """Reads what an exception said, and what the allocator logged at that moment."""
    tensor = _TENSOR.search(said)
    ran_out = _last_real(logged)
    device = (tensor and tensor["device"]) or ""
    number = re.search(r"GPU:(\d+)", device) or re.search(
        r"GPU_(\d+)", ran_out["allocator"] if ran_out else ""
    )
    pool = _last(_POOL, logged)
    region = _last(_REGION, logged)
    driver = _last(_FREE_OF_TOTAL, f"{logged}\n{said}")
    largest = [float(size) for size in _FREE_CHUNK.findall(logged)]
    if pool and float(pool["largest"] or 0):
        largest.append(float(pool["largest"]))
    return Refusal(
        asked_bytes=_asked(said, tensor, ran_out),
        on_gpu=_on_gpu(said, device, ran_out),
        gpu=int(number[1]) if number else None,
        op=ran_out["op"] if ran_out else None,
        limit_bytes=float(pool["limit"]) if pool else None,
        used_bytes=float(pool["used"]) if pool else None,
        reserved_bytes=float(region["reserved"]) if region else None,
        free_bytes=float(driver["free"]) if driver else None,
        largest_bytes=max(largest, default=None),
    )


def fault(text: str) -> Fault | None:
    """The first fault in the order of how much it says; None if there is none."""
    for pattern, kind, by_program in _FAULTS:
        if re.search(pattern, text):
            return Fault(kind, by_program)
    xid = _XID.search(text)
    return Fault(f"xid {xid['code']}", False) if xid else None


def missing_part(text: str) -> str | None:
    """The part of CUDA that could not be found: "libdevice", "ptxas", "versions"."""
    for pattern, part in _MISSING:
        if re.search(pattern, text, re.IGNORECASE):
            return part
    return None


def library_failed(text: str) -> str | None:
    """The words with which cuDNN or cuBLAS did not start; None if they did."""
    found = _LIBRARY.search(text)
    return found[0] if found else None


def _on_gpu(said: str, device: str, ran_out: re.Match[str] | None) -> bool | None:
    if device:
        return "GPU" in device
    if _PINNED.search(said):
        return False
    if _GPU_REFUSED.search(said) or (ran_out and "GPU" in ran_out["allocator"]):
        return True
    return None


def _asked(
    said: str, tensor: re.Match[str] | None, ran_out: re.Match[str] | None
) -> float | None:
    if tensor and (size := _tensor_bytes(tensor)) is not None:
        return size
    found = _ASKED.search(said) or ran_out
    if found is None:
        return None
    if found["exact"]:
        return float(found["exact"])
    return float(found["number"]) * 1024.0 ** _UNITS.get(found["unit"][0].upper(), 0)


def _tensor_bytes(tensor: re.Match[str]) -> float | None:
    size = _TYPE_BYTES.get(tensor["type"] or "")
    sides = [int(side) for side in tensor["shape"].split(",") if side]
    return float(math.prod(sides) * size) if size else None


def _last_real(logged: str) -> re.Match[str] | None:
    """The last allocation that failed for good."""
    found = [one for one in _RAN_OUT.finditer(logged) if _NO_FAILURE not in one["rest"]]
    return found[-1] if found else None


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    found = list(pattern.finditer(text))
    return found[-1] if found else None
