"""`make cases`: every case of a directory with the hook attached, as a table.

    python -m tests.cases [ID ...] [--dir DIR] [--healthy | --failing] [--fixed]
                          [--seed N]
    python -m tests.cases --facts LOGDIR     what was recorded there, one fact a line

A case is right if its verdict is one that `expect.json` accepts; a healthy one if
nothing above "info" was found in it. `run.py` of that directory makes what a case
needs around it (control groups, small file systems), which takes root.
"""

import argparse
import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tb_health_plugin.diagnosing import NothingRecorded, diagnose, find_run

HOOK = Path(__file__).parent / "hook"
# A watcher writes the end within two seconds; a busy machine gets more.
WRITTEN_WITHIN_SECONDS = 10.0
MARKS = {"right": "ok", "wrong": "WRONG", "missed": "MISSED", "false alarm": "ALARM"}


def main() -> int:
    options = _parser().parse_args()
    if options.facts:
        return _show_facts(options.facts)
    directory = options.dir.resolve()
    ids = options.ids or sorted(p.parent.name for p in directory.glob("*/expect.json"))
    out = Path(options.out or tempfile.mkdtemp(prefix="cases-"))
    counts: Counter[str] = Counter()
    families: dict[str, Counter[str]] = {}
    for id in ids:
        expected = json.loads((directory / id / "expect.json").read_text())
        healthy = expected["healthy"] or options.fixed
        if (options.healthy and not healthy) or (options.failing and healthy):
            continue
        if options.fixed and not expected["fix_env"]:
            continue
        began = time.monotonic()
        ran = _run(directory, id, out, fixed=options.fixed, seed=options.seed)
        answer = _answer(out / id)
        mark = _mark(expected, answer, healthy=healthy)
        counts[mark] += 1
        families.setdefault(expected["family"], Counter())[mark] += 1
        _print_row(id, mark, expected, answer, ran, time.monotonic() - began)
    print()
    for family, of_family in sorted(families.items()):
        print(f"{family:16} " + ", ".join(f"{n} {m}" for m, n in of_family.items()))
    print(f"{'all':16} " + ", ".join(f"{n} {m}" for m, n in counts.items()))
    print(f"Recorded below {out}")
    return 0 if set(counts) <= {"right"} else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("ids", nargs="*")
    parser.add_argument("--dir", type=Path, default=Path("../shared/cases"))
    parser.add_argument("--out", help="where recordings go; a new directory if absent")
    parser.add_argument("--healthy", action="store_true")
    parser.add_argument("--failing", action="store_true")
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--seed", type=int, default=0, help="added to every seed")
    parser.add_argument("--facts", type=Path)
    return parser


def _run(
    directory: Path, id: str, out: Path, *, fixed: bool, seed: int
) -> dict[str, Any]:
    """What the runner of that directory says about how the case itself went."""
    results = out / f"{id}.json"
    results.unlink(missing_ok=True)
    if (out / id).exists():
        subprocess.run(["rm", "-rf", str(out / id)], check=True)
    command = [sys.executable, str(directory / "run.py"), id]
    command += ["--hooklib", str(HOOK), "--logroot", str(out), "--out", str(results)]
    command += ["--keep-output", str(out / "output")]
    command += ["--fixed"] if fixed else []
    environment = {**os.environ, "CASES_PYTHON": sys.executable}
    environment |= {"CASES_SEED": str(seed)} if seed else {}
    subprocess.run(command, env=environment, check=False, capture_output=True)
    try:
        return dict(json.loads(results.read_text().splitlines()[-1]))
    except (OSError, IndexError, ValueError):
        return {"ended": "not run", "why": ["the runner failed"], "ok": False}


def _answer(logdir: Path) -> Any:
    deadline = time.monotonic() + WRITTEN_WITHIN_SECONDS
    while True:
        try:
            answer = diagnose(logdir)
        except (NothingRecorded, NotADirectoryError) as error:
            answer = None
            why = str(error)
        if answer is not None and answer["state"] not in ("running", "stuck"):
            return answer
        if time.monotonic() > deadline:
            return answer or {"verdict": {"id": "nothing", "headline": why}}
        time.sleep(0.3)


def _mark(expected: dict[str, Any], answer: Any, *, healthy: bool) -> str:
    id = answer["verdict"]["id"]
    if healthy:
        known = {"healthy", "too_short"}
        known |= set(expected["accept"]) if expected["healthy"] else set()
        alarms = [f for f in answer.get("findings", []) if f["severity"] != "info"]
        if any(alarm["id"] not in known for alarm in alarms):
            return "false alarm"
        return "missed" if id in ("unknown", "nothing") else "right"
    if id in expected["accept"]:
        return "right"
    return "missed" if id in ("healthy", "too_short", "unknown", "nothing") else "wrong"


def _print_row(
    id: str,
    mark: str,
    expected: dict[str, Any],
    answer: Any,
    ran: dict[str, Any],
    seconds: float,
) -> None:
    verdict = answer["verdict"]
    wanted = expected["verdict"]
    print(
        f"{id} {MARKS[mark]:6} {wanted:20} {verdict['id']:20} {seconds:5.1f} s", end=""
    )
    print(f"  {verdict['headline']}")
    others = [
        f"{f['id']} ({f['severity']}, {f['confidence']})"
        for f in answer.get("findings", [])
        if f["id"] != verdict["id"]
    ]
    if others:
        print(f"{'':11}also: {', '.join(others)}")
    if ran.get("ok") is False:
        print(f"{'':11}the case itself: {ran['ended']}; {'; '.join(ran['why'])}")
    sys.stdout.flush()


def _show_facts(logdir: Path) -> int:
    attempt = find_run(logdir).latest
    assert attempt is not None
    for fact in sorted(attempt.everything(), key=lambda f: f.wall_time):
        shown = {
            field.name: value
            for field in dataclasses.fields(fact)
            if (value := getattr(fact, field.name)) not in (None, (), {}, "")
        }
        print(f"{type(fact).__name__}: {shown}")
    for name in attempt.samples.names:
        column = attempt.samples.column(name)
        print(f"sample {name}: {len(column)} values, last {column[-3:].tolist()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
