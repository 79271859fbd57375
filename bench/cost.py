"""What recording costs one kind of training: every measurement, and what it says."""

import statistics
from dataclasses import dataclass
from typing import Any

from bench.measuring import spread

# The variant that the others are compared with.
BARE = "bare"
# As the README says it; with everything else that can be turned on; and nothing in the
# training, only the process beside it.
OURS = "HealthCallback"
OURS_ALL = "HealthCallback with reactions"
WATCHER_ONLY = "our watcher alone"

Measured = dict[str, float]


@dataclass(frozen=True)
class Cost:
    """All measurements of one workload, by variant, each with the number of its round.

    The first variant is bare, and has a measurement in every round.
    """

    workload: str
    seen: dict[str, list[Measured]]
    failed: dict[str, str]

    def __str__(self) -> str:
        lines = [
            f"### What recording costs: {self.workload}\n",
            "| variant | rounds | ms per step | ratio (min to max) | CPU ms per step "
            "| ratio (min to max) | start, s | peak memory, MiB |",
            "| --- | --- | --- | --- | --- | --- | --- | --- |",
        ]
        lines += [self._row(name) for name in self.seen]
        lines += [
            f"\nNot measured: {name} ({why})." for name, why in self.failed.items()
        ]
        return "\n".join(lines)

    def as_json(self) -> dict[str, Any]:
        """By variant: medians, ratios to bare, and every measurement."""
        return {
            "question": f"What recording costs: {self.workload}",
            "workload": self.workload,
            "variants": {name: self._numbers(name) for name in self.seen},
            "not_measured": dict(self.failed),
        }

    def _numbers(self, name: str) -> dict[str, Any]:
        return {
            "wall_ms_per_step": self._median(name, "wall"),
            "wall_ratio": spread(*self._ratio(name, "wall")),
            "cpu_ms_per_step": self._median(name, "cpu"),
            "cpu_ratio": spread(*self._ratio(name, "cpu")),
            "start_more_s": self._more(name, "start"),
            "peak_more_mib": self._more(name, "peak"),
            "rounds": self.seen[name],
        }

    def _row(self, name: str) -> str:
        wall, cpu = self._times(name, "wall"), self._times(name, "cpu")
        return (
            f"| {name} | {len(self.seen[name])} | {wall} | {cpu} "
            f"| {self._more(name, 'start'):+.2f} | {self._more(name, 'peak'):+.0f} |"
        )

    def _times(self, name: str, what: str) -> str:
        middle, low, high = self._ratio(name, what)
        median = self._median(name, what)
        return f"{median:.4g} | {middle:.3f} ({low:.3f} to {high:.3f})"

    def _median(self, name: str, what: str) -> float:
        return statistics.median(one[what] for one in self.seen[name])

    def _ratio(self, name: str, what: str) -> tuple[float, float, float]:
        """To bare, in the same round: median, smallest, largest."""
        ratios = sorted(one / bare for one, bare in self._pairs(name, what))
        return statistics.median(ratios), ratios[0], ratios[-1]

    def _more(self, name: str, what: str) -> float:
        """How much more than bare, in the median."""
        return statistics.median(one - bare for one, bare in self._pairs(name, what))

    def _pairs(self, name: str, what: str) -> list[tuple[float, float]]:
        """A variant's measurements, each with bare's of the same round."""
        bare = {one["round"]: one[what] for one in self.seen[BARE]}
        return [(one[what], bare[one["round"]]) for one in self.seen[name]]
