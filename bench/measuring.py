"""Interleaved measurements: noisy machines give ratios, not seconds."""

import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol


class Table(Protocol):
    """What a question gives: printed as Markdown, kept as JSON."""

    def __str__(self) -> str: ...

    def as_json(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Result:
    """Medians of one question.

    Attributes:
        question: What was asked.
        unit: Of the medians.
        medians: By variant; the first one is what the others are compared with.
        ratios: Median of the ratios to the first variant of the same round, with
            the smallest and the largest. Empty where nothing is compared.
    """

    question: str
    unit: str
    medians: dict[str, float]
    ratios: dict[str, tuple[float, float, float]]

    def __str__(self) -> str:
        title = f"### {self.question}\n"
        if not self.ratios:
            rows = [f"| {name} | {n:.4g} |" for name, n in self.medians.items()]
            return "\n".join([title, f"| | {self.unit} |", "| --- | --- |", *rows])
        lines = [
            title,
            f"| variant | {self.unit} (median) | ratio (min to max) |",
            "| --- | --- | --- |",
        ]
        for name, median in self.medians.items():
            middle, low, high = self.ratios[name]
            lines.append(
                f"| {name} | {median:.4g} | {middle:.3f} ({low:.3f} to {high:.3f}) |"
            )
        return "\n".join(lines)

    def as_json(self) -> dict[str, Any]:
        """The same for programs; `ratios` is left out where nothing is compared."""
        told: dict[str, Any] = {
            "question": self.question,
            "unit": self.unit,
            "numbers": dict(self.medians),
        }
        if self.ratios:
            told["ratios"] = {n: spread(*three) for n, three in self.ratios.items()}
        return told


def spread(median: float, low: float, high: float) -> dict[str, float]:
    return {"median": median, "min": low, "max": high}


def compare(
    question: str,
    variants: Mapping[str, Callable[[], float]],
    *,
    unit: str,
    rounds: int = 7,
) -> Result:
    """Asks each variant in turn, `rounds` times, and compares within a round.

    Args:
        question: What is asked.
        variants: Each measures once and returns its number. The first one is the
            base, and is measured last again in every second round, so that a drift
            of the machine does not favour a place in the order.
        unit: Of the numbers.
        rounds: How often.
    """
    seen: dict[str, list[float]] = {name: [] for name in variants}
    for number in range(rounds):
        order = list(variants) if number % 2 == 0 else list(reversed(variants))
        for name in order:
            seen[name].append(variants[name]())
    base = next(iter(seen.values()))
    ratios = {
        name: sorted(n / b for n, b in zip(numbers, base, strict=True))
        for name, numbers in seen.items()
    }
    return Result(
        question=question,
        unit=unit,
        medians={name: statistics.median(numbers) for name, numbers in seen.items()},
        ratios={n: (statistics.median(r), r[0], r[-1]) for n, r in ratios.items()},
    )
