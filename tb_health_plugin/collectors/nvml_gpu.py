"""One GPU as NVIDIA's management library (NVML) tells of it.

Everything here may hang in the driver: only `Patience` calls it.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from tb_health_plugin.collectors.nvml_links import nvlink, pcie_traffic
from tb_health_plugin.collectors.nvml_processes import Processes, Stranger

_MEGAHERTZ = 1e6
_MILLIWATTS = 1e-3
_PERCENT = 1e-2
# More events than this between two samples: the rest follows at the next.
_MOST_EVENTS = 64

Numbers = dict[str, float]


class Gpu:
    """One GPU that the training may see.

    "Not supported" is an answer: what a card cannot tell is not asked again, and is
    named in `not_supported`.

    Args:
        nvml: The module `pynvml`.
        handle: What NVML knows it by.
        card: The whole card, if this is a part of one (MIG); else the same. Heat,
            power, clocks and faults belong to the card.
        trainer: The process that trains.
        proc: Where `/proc` is.

    Attributes:
        not_supported: What the card cannot tell, in the words of `docs/gpu.md`.
        not_permitted: What the driver does not tell this user.
    """

    def __init__(
        self, nvml: Any, handle: Any, card: Any, *, trainer: int, proc: Path
    ) -> None:
        self._nvml = nvml
        self._handle = handle
        self._card = card
        self.not_supported: list[str] = []
        self.not_permitted: list[str] = []
        self._processes = Processes(nvml, handle, card, trainer=trainer, proc=proc)
        self._xids: deque[float] = deque()
        self._xid_count = 0.0
        self._events = self._ask("XID errors", self._listen)
        self._quick: Mapping[str, Callable[[], Numbers]] = {
            "memory": self._memory,
            "busy": self._busy,
            "temperature": self._temperature,
            "power": self._power,
            "clock": self._clock,
            "reasons for lower clocks": self._throttle,
            "XID errors": self._xid,
        }
        self._slow: Mapping[str, Callable[[], Numbers]] = {
            "other processes": self._processes.memory,
            "how busy others keep it": self._processes.busy,
            "slowdown temperature": self._slowdown,
            "shutdown temperature": self._shutdown,
            "power limit": self._power_limit,
            "highest clock": self._highest_clock,
            "fan": self._fan,
            "performance state": self._state,
            "ECC": self._ecc,
            "ECC of its life": self._ecc_lifetime,
            "remapped rows": self._remapped,
            "retired pages": self._retired,
            "PCIe replays": self._replays,
            "NVLink": self._nvlink,
        }

    @property
    def strangers(self) -> tuple[Stranger, ...]:
        """Processes of others on it, as seen last."""
        return self._processes.strangers

    def learn(self) -> None:
        """Finds out what it cannot tell, without taking a reading of it."""
        for name, query in {**self._quick, **self._slow}.items():
            # What is told only once must reach the record.
            if name not in ("memory", "XID errors"):
                try:
                    self._ask(name, query)
                except self._nvml.NVMLError:
                    # Lost, or broken for now: the first reading tells.
                    return

    def read(self, *, everything: bool) -> Numbers:
        """The numbers of this moment; of one that is lost, only that it is.

        Args:
            everything: Also what changes slowly or costs more.
        """
        numbers: Numbers = {"lost": 0.0}
        queries = {**self._quick, **(self._slow if everything else {})}
        try:
            for name, query in queries.items():
                numbers |= self._ask(name, query) or {}
        except (
            self._nvml.NVMLError_GpuIsLost,
            self._nvml.NVMLError_ResetRequired,
        ):
            # The driver reports why, and it may do so only once.
            return {"lost": 1.0, **(self._ask("XID errors", self._xid_if_any) or {})}
        return numbers

    def traffic(self) -> Numbers:
        """What goes over the bus. Takes the driver 40 ms."""
        try:
            return self._ask("PCIe traffic", self._pcie_traffic) or {}
        except self._nvml.NVMLError:
            # Lost, say: the next reading finds it, too, and tells.
            return {}

    def _ask(self, name: str, query: Callable[[], Any]) -> Any:
        if name in self.not_supported or name in self.not_permitted:
            return None
        try:
            return query()
        except (
            self._nvml.NVMLError_NotSupported,
            self._nvml.NVMLError_FunctionNotFound,
        ):
            self.not_supported.append(name)
        except self._nvml.NVMLError_NoPermission:
            self.not_permitted.append(name)
        return None

    def _memory(self) -> Numbers:
        memory = self._nvml.nvmlDeviceGetMemoryInfo(self._handle)
        return {
            "memory_used_bytes": float(memory.used),
            "memory_free_bytes": float(memory.free),
            "memory_total_bytes": float(memory.total),
        }

    def _busy(self) -> Numbers:
        busy = self._nvml.nvmlDeviceGetUtilizationRates(self._handle)
        return {
            "busy_fraction": busy.gpu * _PERCENT,
            "memory_busy_fraction": busy.memory * _PERCENT,
        }

    def _temperature(self) -> Numbers:
        sensor = self._nvml.NVML_TEMPERATURE_GPU
        celsius = self._nvml.nvmlDeviceGetTemperature(self._card, sensor)
        return {"temperature_celsius": float(celsius)}

    def _power(self) -> Numbers:
        power = self._nvml.nvmlDeviceGetPowerUsage(self._card)
        return {"power_watts": power * _MILLIWATTS}

    def _clock(self) -> Numbers:
        clock = self._nvml.nvmlDeviceGetClockInfo(self._card, self._nvml.NVML_CLOCK_SM)
        return {"sm_clock_hertz": clock * _MEGAHERTZ}

    def _throttle(self) -> Numbers:
        try:
            bits = self._nvml.nvmlDeviceGetCurrentClocksEventReasons(self._card)
        except (self._nvml.NVMLError_FunctionNotFound, AttributeError):
            # Its name before driver 535.
            bits = self._nvml.nvmlDeviceGetCurrentClocksThrottleReasons(self._card)
        return {"throttle_reasons": float(bits)}

    def _slowdown(self) -> Numbers:
        kind = self._nvml.NVML_TEMPERATURE_THRESHOLD_SLOWDOWN
        limit = self._nvml.nvmlDeviceGetTemperatureThreshold(self._card, kind)
        return {"slowdown_celsius": float(limit)}

    def _shutdown(self) -> Numbers:
        kind = self._nvml.NVML_TEMPERATURE_THRESHOLD_SHUTDOWN
        limit = self._nvml.nvmlDeviceGetTemperatureThreshold(self._card, kind)
        return {"shutdown_celsius": float(limit)}

    def _power_limit(self) -> Numbers:
        limit = self._nvml.nvmlDeviceGetEnforcedPowerLimit(self._card)
        return {"power_limit_watts": limit * _MILLIWATTS}

    def _highest_clock(self) -> Numbers:
        kind = self._nvml.NVML_CLOCK_SM
        clock = self._nvml.nvmlDeviceGetMaxClockInfo(self._card, kind)
        return {"sm_clock_max_hertz": clock * _MEGAHERTZ}

    def _fan(self) -> Numbers:
        return {"fan_fraction": self._nvml.nvmlDeviceGetFanSpeed(self._card) * _PERCENT}

    def _state(self) -> Numbers:
        state = self._nvml.nvmlDeviceGetPerformanceState(self._card)
        # 32 is NVML's word for "unknown".
        return {"performance_state": float(state)} if state < 32 else {}

    def _ecc(self) -> Numbers:
        corrected = self._nvml.NVML_MEMORY_ERROR_TYPE_CORRECTED
        since = self._nvml.NVML_VOLATILE_ECC
        return {
            "ecc_uncorrected_errors": self._errors(since),
            "ecc_corrected_errors": self._errors(since, corrected),
        }

    def _ecc_lifetime(self) -> Numbers:
        return {"ecc_lifetime_errors": self._errors(self._nvml.NVML_AGGREGATE_ECC)}

    def _errors(self, since: int, kind: int | None = None) -> float:
        if kind is None:
            kind = self._nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED
        return float(self._nvml.nvmlDeviceGetTotalEccErrors(self._card, kind, since))

    def _remapped(self) -> Numbers:
        told = self._nvml.nvmlDeviceGetRemappedRows(self._card)
        corrected, uncorrected, pending, failed = told
        return {
            "remapped_rows": float(corrected + uncorrected),
            "remap_pending": float(bool(pending)),
            "remap_failed": float(bool(failed)),
        }

    def _retired(self) -> Numbers:
        """Cards before Ampere take pages out of use, where later ones remap rows."""
        causes = range(self._nvml.NVML_PAGE_RETIREMENT_CAUSE_COUNT)
        ask = self._nvml.nvmlDeviceGetRetiredPages
        return {"retired_pages": float(sum(len(ask(self._card, c)) for c in causes))}

    def _replays(self) -> Numbers:
        return {
            "pcie_replays": float(self._nvml.nvmlDeviceGetPcieReplayCounter(self._card))
        }

    def _nvlink(self) -> Numbers:
        return nvlink(self._nvml, self._card)

    def _pcie_traffic(self) -> Numbers:
        return pcie_traffic(self._nvml, self._card)

    def _listen(self) -> Any:
        kinds = self._nvml.nvmlEventTypeXidCriticalError
        events = self._nvml.nvmlEventSetCreate()
        self._nvml.nvmlDeviceRegisterEvents(self._card, kinds, events)
        return events

    def _xid(self) -> Numbers:
        """One number per sample, so that none of several at once is lost."""
        if self._events is None:
            return {}
        self._xids.extend(self._new_xids())
        numbers = {"xid_events": self._xid_count}
        return numbers | ({"xid": self._xids.popleft()} if self._xids else {})

    def _new_xids(self) -> Iterable[float]:
        for _ in range(_MOST_EVENTS):
            try:
                event = self._nvml.nvmlEventSetWait(self._events, 0)
            except self._nvml.NVMLError_Timeout:
                return
            if event.eventType & self._nvml.nvmlEventTypeXidCriticalError:
                self._xid_count += 1
                yield float(event.eventData)

    def _xid_if_any(self) -> Numbers:
        try:
            return self._xid()
        except self._nvml.NVMLError:
            return {}
