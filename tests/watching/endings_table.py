"""Causes every ending for real, with the hook and with the launcher, and tabulates it.

python -m tests.watching.endings_table      writes docs/endings.md
"""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tb_health_plugin.diagnosis.story import tell
from tb_health_plugin.reading.liveness import Life
from tests.watching.conftest import ROOT, command, memory_group, wait_for_end

DOCUMENT = ROOT / "docs/endings.md"
LIMIT_BYTES = 150 << 20
ENDINGS = (
    *("finished", "exception", "interrupt", "sys_exit", "os_exit", "out_of_memory"),
    *(
        "SIGKILL",
        "SIGTERM",
        "SIGHUP",
        "segfault",
        "abort",
        "SIGBUS",
        "SIGFPE",
        "SIGILL",
    ),
)
HEAD = """# Endings, as they were told

Each of these was caused for real by `python -m tests.watching.endings_table`, which
wrote this table. With the hook a small training was under way; under the launcher a
program that knows nothing of us, and does not train. A live test causes them again
and compares.

| ending | status | with the hook | under `tb-health run` |
| --- | --- | --- | --- |
"""


@dataclass(frozen=True)
class Told:
    """What a person would read, and how the program ended."""

    status: str
    words: str


def by_hook(ending: str, logdir: Path) -> Told:
    return _cause(command(logdir, ending), ending, logdir)


def by_launcher(ending: str, logdir: Path) -> Told:
    run = [sys.executable, "-m", "tb_health_plugin", "run", "--logdir", str(logdir)]
    program = str(Path(__file__).with_name("plain_ending.py"))
    return _cause([*run, program, ending], ending, logdir)


def rows() -> list[str]:
    """The lines of the table, from real ends."""
    made = []
    with tempfile.TemporaryDirectory() as folder:
        for ending in ENDINGS:
            hook = by_hook(ending, Path(folder, f"{ending}-hook"))
            launcher = by_launcher(ending, Path(folder, f"{ending}-run"))
            made.append(
                f"| {ending} | {hook.status} | {hook.words} | {launcher.words} |"
            )
    return made


def _cause(arguments: list[str], ending: str, logdir: Path) -> Told:
    logdir.mkdir()
    with contextlib.ExitStack() as stack:
        env = dict(os.environ)
        if ending == "out_of_memory":
            group = stack.enter_context(memory_group(LIMIT_BYTES))
            env["TB_HEALTH_TEST_GROUP"] = str(group)
        done = subprocess.run(
            arguments,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            env=env,
            check=False,
        )
        story = tell(wait_for_end(logdir), Life(alive=False, because=""))
    verdict = story.verdict
    why = f"`{verdict.id}`, {verdict.confidence}: " if verdict else ""
    # How many steps memory lasts is not the same twice.
    headline = story.headline if ending != "out_of_memory" else _no_step(story.headline)
    return Told(_status(done.returncode), f"{why}{headline}")


def _no_step(headline: str) -> str:
    return headline.split(" at step ")[0]


def _status(code: int) -> str:
    return str(code) if code >= 0 else signal.Signals(-code).name


if __name__ == "__main__":
    DOCUMENT.write_text(HEAD + "\n".join(rows()) + "\n")
