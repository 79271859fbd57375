"""What was promised, beside what was measured: the falls first."""

import gzip
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.cost import OURS

PAGE = Path(__file__).parents[1] / "tb_health_plugin/server/static/index.js"

Results = Mapping[str, Any]
Find = Callable[[Results], float | None]


@dataclass(frozen=True)
class Budget:
    """One promise.

    Attributes:
        what: What is bounded.
        limit: The bound.
        unit: Of the bound.
        find: Finds what was measured; None if it was not.
        at_least: The bound is the least, not the most.
    """

    what: str
    limit: float
    unit: str
    find: Find
    at_least: bool = False

    def holds(self, value: float) -> bool:
        return value >= self.limit if self.at_least else value <= self.limit


@dataclass(frozen=True)
class Budgets:
    """All promises as one table: what fell short, what held, what nobody measured."""

    rows: tuple[tuple[Budget, float | None], ...]

    @property
    def falls(self) -> tuple[Budget, ...]:
        return tuple(b for b, v in self.rows if v is not None and not b.holds(v))

    def __str__(self) -> str:
        known = sum(value is not None for _, value in self.rows)
        lines = [
            f"### Budgets: {len(self.falls)} of {known} measured ones fall short\n",
            "| what | promised | measured | |",
            "| --- | --- | --- | --- |",
        ]
        order = {"falls short": 0, "pass": 1, "not measured": 2}
        told = [(self._word(b, v), b, v) for b, v in self.rows]
        for word, budget, value in sorted(told, key=lambda one: order[one[0]]):
            sign = "≥" if budget.at_least else "≤"
            seen = "-" if value is None else f"{value:.4g} {budget.unit}"
            bound = f"{sign} {budget.limit:g} {budget.unit}"
            lines.append(f"| {budget.what} | {bound} | {seen} | {word} |")
        return "\n".join(lines)

    def as_json(self) -> dict[str, Any]:
        return {
            "question": "Budgets",
            "budgets": [
                {
                    "what": budget.what,
                    "limit": budget.limit,
                    "unit": budget.unit,
                    "at_least": budget.at_least,
                    "measured": value,
                    "result": self._word(budget, value),
                }
                for budget, value in self.rows
            ],
        }

    @staticmethod
    def _word(budget: Budget, value: float | None) -> str:
        if value is None:
            return "not measured"
        return "pass" if budget.holds(value) else "falls short"


def compared(results: Iterable[Results]) -> Budgets:
    """What became of each promise in these results, as `report.as_json` has them."""
    by_asker: dict[str, Any] = {}
    for one in results:
        by_asker.setdefault(one["asked_by"], []).append(one)
    return Budgets(tuple((budget, budget.find(by_asker)) for budget in BUDGETS))


def _number(asker: str, name: str, *, question: str = "") -> Find:
    """A number by the beginning of its name."""

    def find(results: Results) -> float | None:
        for one in results.get(asker, ()):
            if question not in one["question"]:
                continue
            for key, value in one.get("numbers", {}).items():
                if key.startswith(name):
                    return float(value)
        return None

    return find


def _worst(asker: str, *names: str) -> Find:
    """The largest of several."""

    def find(results: Results) -> float | None:
        found = [_number(asker, name)(results) for name in names]
        return max((one for one in found if one is not None), default=None)

    return find


def _hook(workload: str, what: str) -> Find:
    def find(results: Results) -> float | None:
        for one in results.get("hook_cost", ()):
            if workload in one["workload"] and OURS in one["variants"]:
                value = one["variants"][OURS][what]
                return float(value["median"] if isinstance(value, dict) else value)
        return None

    return find


def _dearest(what: str) -> Find:
    """Over all workloads with the callback."""

    def find(results: Results) -> float | None:
        found = [_hook(name, what)(results) for name in ("1 ms", "50 ms")]
        return max((one for one in found if one is not None), default=None)

    return find


def _beside_peers(workload: str) -> Find:
    """Our CPU ratio over that of the cheapest other recorder."""

    def find(results: Results) -> float | None:
        for one in results.get("hook_cost", ()):
            others = [
                numbers["cpu_ratio"]["median"]
                for name, numbers in one["variants"].items()
                if name not in NOT_PEERS
            ]
            if workload in one["workload"] and others and OURS in one["variants"]:
                ours = one["variants"][OURS]["cpu_ratio"]["median"]
                return float(ours / min(others))
        return None

    return find


def _kill(what: str) -> Find:
    def find(results: Results) -> float | None:
        for one in results.get("left_by_a_kill", ()):
            value = one["recorders"].get(OURS, {}).get(what)
            return None if value is None else float(value)
        return None

    return find


def _curves(results: Results) -> float | None:
    curves = [c for one in results.get("growth", ()) for c in one["curves"]]
    return max((curve["slope"] for curve in curves), default=None)


def _speed_up(results: Results) -> float | None:
    for one in results.get("report_speed", ()):
        return float(one["ratios"]["on one core"]["median"])
    return None


def _page_kilobytes(results: Results) -> float:
    return len(gzip.compress(PAGE.read_bytes())) / 1e3


# What is not another recorder of comparable facts: MLflow's system metrics know
# nothing of the training, and check_numerics records nothing at all.
NOT_PEERS = (
    "bare",
    OURS,
    "HealthCallback with reactions",
    "our watcher alone",
    "MLflow system metrics at 1 Hz",
    "enable_check_numerics",
)
BUDGETS = (
    Budget("hook, wall time at 50 ms steps", 1.01, "x", _hook("50 ms", "wall_ratio")),
    Budget("hook, wall time at 1 ms steps", 1.05, "x", _hook("1 ms", "wall_ratio")),
    Budget("hook, later start", 0.5, "s", _dearest("start_more_s")),
    Budget("hook, more memory in the trainer", 30, "MiB", _dearest("peak_more_mib")),
    Budget("hook, CPU beside the cheapest peer, 50 ms", 1, "x", _beside_peers("50 ms")),
    Budget("hook, CPU beside the cheapest peer, 1 ms", 1, "x", _beside_peers("1 ms")),
    Budget("waits for data, off by", 10, "%", _number("wait_truth", "farthest off")),
    Budget("watcher, running after", 0.5, "s", _number("watcher_cost", "running")),
    Budget("watcher, own memory", 25, "MiB", _number("watcher_cost", "memory")),
    Budget("watcher, of one core", 0.3, "%", _number("watcher_cost", "share")),
    Budget("a death is on disk", 2, "s", _number("watcher_cost", "a SIGKILL")),
    Budget("steps lost by SIGKILL", 0, "", _kill("steps_lost")),
    Budget("bytes on disk", 5, "MB/h", _kill("megabytes_per_hour")),
    Budget("judging a day", 1_000, "ms", _number("judging_cost", "finished, first")),
    Budget(
        "a live update",
        5,
        "ms",
        _worst(
            "judging_cost",
            *(f"live update after {hours} h, mean" for hours in (1, 6, 23)),
        ),
    ),
    Budget("run list, warm server", 1, "s", _number("tab_speed", "list, warm")),
    Budget("run list, cold server", 5, "s", _number("tab_speed", "list, cold")),
    Budget("opening a day-long run", 0.5, "s", _number("tab_speed", "opening")),
    Budget("zoom and pan", 50, "frames/s", _number("tab_speed", "frames"), True),
    Budget("server memory", 500, "MiB", _number("tab_speed", "memory of the server (")),
    Budget(
        "server memory where TensorFlow is not installed",
        500,
        "MiB",
        _number("tab_speed", "memory of the server without TensorFlow (MiB)"),
    ),
    Budget("the page, compressed", 120, "kB", _page_kilobytes),
    Budget("a GPU's sample", 2, "ms", _number("gpu_cost", "8 GPUs: mean")),
    Budget("1,000 workers, warm", 2, "s", _number("many_workers", "warm")),
    Budget("1,000 workers, memory", 1_024, "MiB", _number("many_workers", "memory")),
    Budget("report on 2 cores", 1.7, "x faster", _speed_up, True),
    Budget("steepest growth", 1.2, "slope", _curves),
)
