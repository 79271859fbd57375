"""What TensorFlow, XLA and CUDA's libraries say when a GPU has no memory to give.

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
    r"(?:trying to allocate|tried to allocate"
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
_OF_A_GPU = re.compile(r"Allocator \(GPU|gpu_async_")
_NO_FAILURE = "not a failure"
_POOL = re.compile(
    r"Limit:\s+(?P<limit>\d+)\s*\n\s*InUse:\s+(?P<used>\d+)"
    r"(?:\s*\n\s*MaxInUse:\s+(?P<peak>\d+))?"
    r"(?:.{0,300}?LargestFreeBlock:\s+(?P<largest>\d+))?",
    re.DOTALL,
)
_REGION = re.compile(r"total_region_allocated_bytes_: (?P<reserved>\d+)")
_FREE_CHUNK = re.compile(r"\] Free\s+at \w+ of size (\d+)")
# The asynchronous allocator. The first versions wrote no unit.
_ASYNC = re.compile(
    r"gpu_async_(?P<gpu>\d+) cuMemAllocAsync failed to allocate (?P<exact>\d+)"
)
# It asks the driver.
_FREE_OF_TOTAL = re.compile(r"Free memory/Total memory: (?P<free>\d+)/(?P<total>\d+)")

# Of the machine, though CUDA asked for it: memory that a GPU can reach.
_PINNED = re.compile(
    r"bytes on host: CUDA_ERROR_OUT_OF_MEMORY|pinned host memory", re.IGNORECASE
)
_GPU_REFUSED = re.compile(
    r"CUDA_ERROR_OUT_OF_MEMORY|CU(?:DNN|BLAS|SOLVER|FFT|SPARSE)_STATUS_ALLOC_FAILED"
    r"|CUDA out of memory|HIP out of memory|Dst tensor is not initialized"
    r"|/device:GPU:\d+\S* by allocator|by allocator GPU_|gpu_async_\d"
    r"|CUDNN engine \S+: RESOURCE_EXHAUSTED",
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


def refusal(said: str, logged: str = "") -> Refusal:
    """Reads what an exception said, and what the allocator logged at that moment."""
    tensor = _TENSOR.search(said)
    ran_out = _last_real(logged) or _last(_ASYNC, f"{logged}\n{said}")
    device = (tensor and tensor["device"]) or ""
    number = re.search(r"GPU:(\d+)", device) or re.search(
        r"(?:GPU|gpu_async)_(\d+)", ran_out[0] if ran_out else ""
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
        op=ran_out.groupdict().get("op") if ran_out else None,
        # The asynchronous allocator has none, and writes 0.
        limit_bytes=(float(pool["limit"]) or None) if pool else None,
        used_bytes=float(pool["used"]) if pool else None,
        reserved_bytes=float(region["reserved"]) if region else None,
        free_bytes=float(driver["free"]) if driver else None,
        largest_bytes=max(largest, default=None),
    )


def _on_gpu(said: str, device: str, ran_out: re.Match[str] | None) -> bool | None:
    if device:
        return "GPU" in device
    if _PINNED.search(said):
        return False
    if _GPU_REFUSED.search(said) or (ran_out and _OF_A_GPU.match(ran_out[0])):
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
