"""`make bench-store`: keeps a measurement in the repository, and the README at it.

The README's figures are never typed: they are written between two marks from
`bench/results.json`, and a test compares the two.
"""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from bench.cost import BARE

# Load from which on a machine is not measured alone.
BUSY = 1.0
HERE = Path(__file__).parent
README = HERE.parent / "README.md"
STORED = HERE / "results.json"
MADE = HERE / "out"
BEGIN, END = "<!-- figures of make bench -->", "<!-- end of figures -->"
NOTHING = "No measurement is stored yet; `make bench` takes one on your machine."


def main() -> int:
    made = MADE / STORED.name
    if not made.exists() or json.loads(made.read_text())["quick"]:
        sys.stderr.write("Nothing to store: run make bench first, without QUICK=1\n")
        return 2
    shutil.copyfile(made, STORED)
    shutil.copyfile(MADE / "results.md", HERE / "results.md")
    README.write_text(with_figures(README.read_text(), stored()))
    print(figures(stored()))
    return 0


def stored() -> dict[str, Any] | None:
    """The measurement that is kept in the repository; None if there is none yet."""
    if not STORED.exists():
        return None
    told: dict[str, Any] = json.loads(STORED.read_text())
    return told


def with_figures(page: str, report: dict[str, Any] | None) -> str:
    """The page with what stands between the marks written anew."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    assert end, f"README.md has lost its marks {BEGIN} and {END}"
    return f"{before}{begin}\n{figures(report)}\n{end}{after}"


def figures(report: dict[str, Any] | None) -> str:
    """What the README says of it: what every training pays, and the watcher."""
    if report is None:
        return NOTHING
    machine = report["machine"]
    costs = [one for one in report["results"] if one["asked_by"] == "hook_cost"]
    watcher = _numbers(report, "The watcher")
    lines = [
        "| | without | with the hook | its CPU time |",
        "| --- | --- | --- | --- |",
        *(_row(cost) for cost in costs),
        "",
        f"A training starts {_start(costs)}. The watcher takes "
        f"{watcher['memory of its own (USS), MiB']:.0f} MiB and "
        f"{watcher['share of one core at 1 Hz, %']:.1f} % of one core; a SIGKILL is on "
        f"disk after {watcher['a SIGKILL is on disk after, s']:.2f} s.",
        f"Medians and extremes of {report['rounds']} rounds on {machine['cores']} "
        f"cores ({machine['cpu']}, TensorFlow {machine['packages']['tensorflow']}), "
        f"{report['date']}{_busy(machine['load_before'])}. "
        "All of it: [bench/results.md](bench/results.md).",
    ]
    return "\n".join(lines)


def _busy(load: float) -> str:
    """Whoever reads the extremes should know where they come from."""
    return ", while other programs ran" if load > BUSY else ""


def _row(cost: dict[str, Any]) -> str:
    variants = cost["variants"]
    (ours,) = (variants[n] for n in ("HealthCallback", "watch") if n in variants)
    without = variants[BARE]["wall_ms_per_step"]
    wall, cpu = _ratio(ours["wall_ratio"]), _ratio(ours["cpu_ratio"])
    return f"| {cost['workload']} | {without:.3g} ms | {wall} | {cpu} |"


def _ratio(spread: dict[str, float]) -> str:
    low, high = spread["min"], spread["max"]
    return f"× {spread['median']:.3f} ({low:.3f} to {high:.3f})"


def _start(costs: list[dict[str, Any]]) -> str:
    """The dearest of the workloads."""
    ours = [
        variant
        for cost in costs
        for name, variant in cost["variants"].items()
        if name in ("HealthCallback", "watch")
    ]
    seconds = max(one["start_more_s"] for one in ours)
    memory = max(one["peak_more_mib"] for one in ours)
    return f"up to {seconds:.1f} s later and takes {memory:.0f} MiB more"


def _numbers(report: dict[str, Any], question: str) -> dict[str, float]:
    (found,) = (one for one in report["results"] if one["question"] == question)
    numbers: dict[str, float] = found["numbers"]
    return numbers


if __name__ == "__main__":
    sys.exit(main())
