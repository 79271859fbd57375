"""All results of one measurement, with where and when: Markdown and JSON."""

import importlib.metadata
import json
import os
import platform
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.budgets import Budgets, compared
from bench.measuring import Table

_PACKAGES = ("tensorflow", "keras", "tensorboard", "numpy")


@dataclass(frozen=True)
class Kept:
    """A table that was measured before."""

    told: dict[str, Any]

    def __str__(self) -> str:
        return str(self.told["text"])

    def as_json(self) -> dict[str, Any]:
        return {k: v for k, v in self.told.items() if k not in ("asked_by", "text")}


@dataclass(frozen=True)
class Machine:
    """Where it was measured, and how busy that was before we began."""

    cpu: str
    cores: int
    memory_gib: float
    system: str
    python: str
    packages: dict[str, str]
    load_before: float

    def __str__(self) -> str:
        versions = ", ".join(f"{n} {v}" for n, v in self.packages.items())
        return (
            f"{self.cores} cores of {self.cpu}, {self.memory_gib:.0f} GiB, "
            f"{self.system}, Python {self.python}, {versions}; "
            f"load before: {self.load_before:.1f}"
        )


@dataclass(frozen=True)
class Report:
    """What `make bench` leaves.

    Attributes:
        date: Day on which it began, as 2026-11-18.
        rounds: Interleaved rounds of each comparison.
        quick: Shorter trainings, for trying it out.
        tables: Every table, with the name of the module that asked.
    """

    machine: Machine
    date: str
    rounds: int
    quick: bool
    tables: list[tuple[str, Table]] = field(default_factory=list)

    def heading(self) -> str:
        short = ", short trainings (QUICK)" if self.quick else ""
        return (
            f"Measured on {self.date}, {self.rounds} interleaved rounds{short}, "
            f"on {self.machine}."
        )

    def as_markdown(self) -> str:
        told = [self.budgets(), *(table for _, table in self.tables)]
        texts = [self.heading(), *map(str, told)]
        return "\n\n".join(texts) + "\n"

    def as_json(self) -> dict[str, Any]:
        return {
            "date": self.date,
            "rounds": self.rounds,
            "quick": self.quick,
            "heading": self.heading(),
            "machine": vars(self.machine),
            "budgets": self.budgets().as_json()["budgets"],
            "results": self._results(),
        }

    def budgets(self) -> Budgets:
        """What was promised beside what was measured so far."""
        return compared(self._results())

    def _results(self) -> list[dict[str, Any]]:
        return [
            {"asked_by": asked_by, **table.as_json(), "text": str(table)}
            for asked_by, table in self.tables
        ]

    def add(self, asked_by: str, table: Table) -> None:
        """One more table; it takes the place of an earlier one with its heading."""
        places = [n for n, (_, old) in enumerate(self.tables) if _is_same(old, table)]
        if places:
            self.tables[places[0]] = asked_by, table
        else:
            self.tables.append((asked_by, table))

    def keep_earlier(self, folder: Path) -> None:
        """Takes over what was measured here today, with as many rounds."""
        made = folder / "results.json"
        if not made.exists():
            return
        before = json.loads(made.read_text())
        same = {"date": self.date, "rounds": self.rounds, "quick": self.quick}
        if any(before[name] != value for name, value in same.items()):
            return
        if {**before["machine"], "load_before": self.machine.load_before} != vars(
            self.machine
        ):
            return
        for result in before["results"]:
            self.tables.append((result["asked_by"], Kept(result)))

    def write(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        (folder / "results.md").write_text(self.as_markdown())
        text = json.dumps(self.as_json(), indent=1, ensure_ascii=False)
        (folder / "results.json").write_text(text + "\n")


def _is_same(one: Table, other: Table) -> bool:
    return str(one).partition("\n")[0] == str(other).partition("\n")[0]


def begin(rounds: int, quick: bool) -> Report:
    """A report without results, about this machine now."""
    return Report(_this_machine(), time.strftime("%Y-%m-%d"), rounds, quick)


def _this_machine() -> Machine:
    packages = {}
    for name in _PACKAGES:
        try:
            packages[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            packages[name] = "not installed"
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return Machine(
        cpu=_cpu_model(),
        cores=len(os.sched_getaffinity(0)),
        memory_gib=pages / 2**30,
        system=f"{platform.system()} {platform.release().partition('-')[0]}",
        python=platform.python_version(),
        packages=packages,
        load_before=os.getloadavg()[0],
    )


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            return value.strip()
    return platform.machine()
