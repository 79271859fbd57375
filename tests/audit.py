"""`make audit`: are there known weaknesses in what we depend on?

An answer that nobody gave is no good news: where the list of weaknesses cannot be
reached, or does not know a package, that is said. With `--strict` it is a failure.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from importlib.metadata import requires, version
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement


def main() -> int:
    parser = argparse.ArgumentParser(prog="make audit", description=__doc__)
    parser.add_argument("--strict", action="store_true")
    options = parser.parse_args()
    report, printed = ask(installed_versions())
    if report is None:
        print(f"skipped: nobody could be asked. {printed}")
        return int(options.strict)
    found, unknown = weaknesses(report), not_asked(report)
    for line in found:
        print(line)
    for line in unknown:
        print(f"not asked: {line}")
    if unknown and len(unknown) == len(report["dependencies"]):
        print("skipped: the list of weaknesses knows none of our dependencies here")
    return int(bool(found) or (options.strict and bool(unknown)))


def installed_versions() -> list[str]:
    """What a user gets beside the wheel, as it is installed here."""
    named = map(Requirement, requires("tensorboard-plugin-health") or ())
    return [
        f"{one.name}=={version(one.name)}"
        for one in named
        if one.marker is None or one.marker.evaluate({"extra": "tensorflow"})
    ]


def ask(pinned: Sequence[str]) -> tuple[dict[str, Any] | None, str]:
    """The report of pip-audit; none, and why, if it could not be made."""
    with tempfile.TemporaryDirectory() as folder:
        wanted = Path(folder) / "requirements.txt"
        wanted.write_text("\n".join(pinned))
        command = [sys.executable, "-m", "pip_audit", "--no-deps", "--disable-pip"]
        done = subprocess.run(
            [*command, "-f", "json", "-r", str(wanted)],
            check=False,
            capture_output=True,
            text=True,
        )
    try:
        return dict(json.loads(done.stdout)), ""
    except json.JSONDecodeError:
        return None, done.stderr.strip().rpartition("\n")[2][:300]


def weaknesses(report: Mapping[str, Any]) -> list[str]:
    return [
        f"{one['name']} {one['version']}: {hole['id']}, fixed in "
        f"{', '.join(hole['fix_versions']) or 'no version yet'}"
        for one in report["dependencies"]
        for hole in one.get("vulns", ())
    ]


def not_asked(report: Mapping[str, Any]) -> list[str]:
    return [
        f"{one['name']} ({one['skip_reason']})"
        for one in report["dependencies"]
        if "skip_reason" in one
    ]


if __name__ == "__main__":
    sys.exit(main())
