"""Makes a recorded run small and nameless, for `tests/runs/`.

    python -m tests.runs.scrub SRC DST VERDICT [--healthy]

`SRC` is the log directory of one run, `DST` a new folder in `tests/runs/`, named by
the verdict; `VERDICT` is the true cause, which a person knows. The record is judged
before and after: if the verdict is another one, nothing is kept.
"""

import argparse
import dataclasses
import json
import re
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tb_health_plugin.diagnosing import find_run
from tb_health_plugin.diagnosis.as_json import Answer, answer
from tb_health_plugin.diagnosis.engine import judge
from tb_health_plugin.events import facts
from tb_health_plugin.events.attempt import HEALTH_DIRECTORY, FileName
from tb_health_plugin.events.event_file import EventFile
from tb_health_plugin.events.sample_file import SampleFile
from tb_health_plugin.reading.run_history import Attempt, RunHistory
from tb_health_plugin.reading.table import TIME
from tests.runs import GONE

# More rows than this are thinned evenly: about 500 bytes each.
MOST_ROWS = 120
# More than this is too much for a repository.
MOST_BYTES = 100_000

NO_BOOT = "00000000-0000-0000-0000-000000000000"
PROGRAM = "train.py"
PROJECT = "/project/"

_FOLDERS = re.compile(r"(?<![\w.:/])/(?:[^\s/\"'<>:;,()\[\]]+/)+")
# What rules may want to know of a path: whose code it is.
_KEPT_FROM = re.compile(r"/((?:lib/python[\d.]+|tb_health_plugin)/.*)")
# These are the same on every machine.
_KERNEL = ("/proc/", "/sys/", "/dev/")


class Scrubber:
    """Takes the names out of every text of a fact."""

    def __init__(self, start: facts.RunStarted | None) -> None:
        self._words: list[tuple[re.Pattern[str], str]] = []
        if start is not None and start.program:
            self._replace(Path(start.program).name, PROGRAM)
        if start is not None and start.host:
            self._replace(start.host, "host")

    def _replace(self, word: str, by: str) -> None:
        pattern = re.compile(rf"(?<![\w.-]){re.escape(word)}(?![\w-])")
        self._words.append((pattern, by))

    def text(self, text: str) -> str:
        text = _FOLDERS.sub(_folder, text)
        for pattern, by in self._words:
            text = pattern.sub(by, text)
        return text

    def fact(self, fact: facts.Fact) -> facts.Fact:
        clean: facts.Fact = _mapped(fact, self.text)
        if isinstance(clean, facts.RunStarted):
            hidden = {"platform": "Linux", "git_commit": "0" * 40}
            settings = {k: hidden.get(k, v) for k, v in clean.settings.items()}
            clean = dataclasses.replace(clean, boot_id=NO_BOOT, settings=settings)
        return clean


def _folder(found: re.Match[str]) -> str:
    folder = found.group()
    if folder.startswith(_KERNEL):
        return folder
    kept = _KEPT_FROM.search(folder)
    return f"/env/{kept.group(1)}" if kept else PROJECT


def _mapped(value: Any, text: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return text(value)
    if isinstance(value, Mapping):
        return {key: _mapped(one, text) for key, one in value.items()}
    if isinstance(value, tuple):
        return tuple(_mapped(one, text) for one in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.replace(
            value,
            **{
                field.name: _mapped(getattr(value, field.name), text)
                for field in dataclasses.fields(value)
            },
        )
    return value


def scrub(source: Attempt, directory: Path, most_rows: int = MOST_ROWS) -> None:
    """Writes `source` again below `directory`, as the recorder would have."""
    directory.mkdir(parents=True)
    scrubber = Scrubber(source.start)
    began = source.started_at or 0.0
    records = EventFile(directory / str(FileName("records", 0)), now=began)
    for fact in sorted(source.everything(), key=lambda one: one.wall_time):
        records.append_fact(scrubber.fact(fact))
    records.close()
    count = len(source.samples)
    if not count:
        return
    every = -(-count // most_rows)
    # The last rows are those that tell of the end.
    rows = sorted({*range(0, count, every), *range(max(0, count - 5), count)})
    # What was never measured reads the same if it is not there.
    names = (name for name in source.samples.names if name != TIME)
    columns = [name for name in names if source.samples.has(name)]
    samples = SampleFile(
        directory / str(FileName("samples", 0)),
        columns,
        period_seconds=source.period_seconds * every,
        now=began,
    )
    times = source.samples.column(TIME)
    values = [source.samples.column(name) for name in columns]
    for row in rows:
        samples.append(float(times[row]), [float(column[row]) for column in values])
    samples.close()


def told(history: RunHistory) -> Answer:
    """What is said of a recorded run."""
    attempt = history.latest
    assert attempt is not None
    return answer(history, judge(attempt, GONE))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("verdict", help="the true one, a word of the vocabulary")
    parser.add_argument("--healthy", action="store_true", help="nothing is wrong in it")
    parser.add_argument("--rows", type=int, default=MOST_ROWS, help="keep so many")
    options = parser.parse_args()
    before = find_run(options.source)
    assert before.latest is not None
    target = options.target / HEALTH_DIRECTORY / "recorded"
    scrub(before.latest, target, options.rows)
    after = told(find_run(options.target))
    size = sum(p.stat().st_size for p in options.target.rglob("*") if p.is_file())
    wrong = _wrong(options.verdict, told(before), after, size)
    if wrong:
        shutil.rmtree(options.target)
        sys.stderr.write(f"{options.target}: {wrong}\n")
        return 1
    expected = {
        "verdict": options.verdict,
        "detail": after["verdict"]["detail"],
        "state": after["state"],
        "healthy": options.healthy,
    }
    path = options.target / "expected.json"
    path.write_text(json.dumps(expected, indent=2) + "\n")
    sys.stdout.write(f"{options.target}: {size:,} bytes, {after['headline']}\n")
    return 0


def _wrong(verdict: str, before: Answer, after: Answer, size: int) -> str | None:
    for when, one in (("before", before), ("after", after)):
        if one["verdict"]["id"] != verdict:
            return f"{one['verdict']['id']} {when} scrubbing, and not {verdict}"
    if size > MOST_BYTES:
        return f"{size:,} bytes are more than {MOST_BYTES:,}"
    return None


if __name__ == "__main__":
    sys.exit(main())
