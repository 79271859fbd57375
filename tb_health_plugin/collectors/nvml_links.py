"""What goes over a GPU's connections: PCIe to the machine, NVLink to other GPUs.

Everything here may hang in the driver: only `Patience` and `Errand` call it.
"""

from typing import Any

_KIB = 1024.0
# NVML writes PCIe traffic in thousands of bytes a second.
_KB = 1000.0
# Asks for all links together.
_ALL_LINKS = 0xFFFFFFFF


def pcie_traffic(nvml: Any, card: Any) -> dict[str, float]:
    """Bytes a second to and from the machine; the driver counts 20 ms for each."""
    received = nvml.nvmlDeviceGetPcieThroughput(card, nvml.NVML_PCIE_UTIL_RX_BYTES)
    sent = nvml.nvmlDeviceGetPcieThroughput(card, nvml.NVML_PCIE_UTIL_TX_BYTES)
    return {
        "pcie_received_bytes_per_second": received * _KB,
        "pcie_sent_bytes_per_second": sent * _KB,
    }


def nvlink(nvml: Any, card: Any) -> dict[str, float]:
    """Links that are up, what they carried and their errors so far.

    Raises:
        NVMLError_NotSupported: The card has no such link.
    """
    counters = {
        "received": (nvml.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX, _ALL_LINKS),
        "sent": (nvml.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX, _ALL_LINKS),
        "links": nvml.NVML_FI_DEV_NVLINK_LINK_COUNT,
        "flit": nvml.NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL,
        "data": nvml.NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL,
        "replay": nvml.NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL,
        "recovery": nvml.NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL,
    }
    answers = nvml.nvmlDeviceGetFieldValues(card, list(counters.values()))
    told = {
        name: number
        for name, answer in zip(counters, answers, strict=True)
        if (number := _number(nvml, answer)) is not None
    }
    if not told.get("links"):
        raise nvml.NVMLError(nvml.NVML_ERROR_NOT_SUPPORTED)
    states = [
        nvml.nvmlDeviceGetNvLinkState(card, link) for link in range(int(told["links"]))
    ]
    numbers = {"nvlink_links_up": float(sum(state == 1 for state in states))}
    for way in ("received", "sent"):
        if way in told:
            numbers[f"nvlink_{way}_bytes"] = told[way] * _KIB
    errors = [told[n] for n in ("flit", "data", "replay", "recovery") if n in told]
    return numbers | ({"nvlink_errors": sum(errors)} if errors else {})


def _number(nvml: Any, answer: Any) -> float | None:
    """The number of a field; None if this one could not be told."""
    if answer.nvmlReturn != nvml.NVML_SUCCESS:
        return None
    # In the order of NVML's types of values.
    kinds = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")
    return float(getattr(answer.value, kinds[answer.valueType]))
