"""Which GPUs NVIDIA's management library (NVML) knows, and what they are called.

Everything here may hang in the driver: only `Patience` calls it.
"""

from typing import Any


def every_card(nvml: Any) -> list[tuple[Any, list[Any]]]:
    """Every card that answers, and the parts it is split into."""
    found = []
    for place in range(nvml.nvmlDeviceGetCount()):
        try:
            card = nvml.nvmlDeviceGetHandleByIndex(place)
        except nvml.NVMLError:
            # Lost before the training began: CUDA does not show it either.
            continue
        found.append((card, _parts(nvml, card)))
    return found


def _parts(nvml: Any, card: Any) -> list[Any]:
    found = []
    try:
        if nvml.nvmlDeviceGetMigMode(card)[0] != nvml.NVML_DEVICE_MIG_ENABLE:
            return []
        most = nvml.nvmlDeviceGetMaxMigDeviceCount(card)
    except nvml.NVMLError:
        return []
    for place in range(most):
        try:
            found.append(nvml.nvmlDeviceGetMigDeviceHandleByIndex(card, place))
        except nvml.NVMLError:
            continue
    return found


def uuid(nvml: Any, handle: Any) -> str:
    try:
        return as_text(nvml.nvmlDeviceGetUUID(handle))
    except nvml.NVMLError:
        return ""


def cuda_version(number: int) -> str:
    """As in "12.4", which NVML writes as 12040."""
    return f"{number // 1000}.{number % 1000 // 10}"


def as_text(given: Any) -> str:
    """Old versions of the module give bytes."""
    return given.decode(errors="replace") if isinstance(given, bytes) else str(given)
