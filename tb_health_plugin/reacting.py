"""Follows one attempt from a process of its own, and tells what is found in it.

Started by the trainer only if somebody asked for a reaction. It reads the files that
the recorder writes, as the tab does, so that neither the trainer nor the watcher has
to know rules. Each change of a finding is one line of JSON on standard output, and one
run of the user's command, if there is one. It ends when the run has ended.
"""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tb_health_plugin.diagnosis.as_json import VerdictPayload, verdict_payload
from tb_health_plugin.diagnosis.live import LiveJudge, changes
from tb_health_plugin.diagnosis.verdict import Story, Verdict
from tb_health_plugin.events import facts
from tb_health_plugin.reading.attempt_reader import AttemptReader
from tb_health_plugin.reading.liveness import life_of
from tb_health_plugin.reading.run_history import Attempt

PERIOD_SECONDS = 1.0
# The record is there within seconds of the start; without one there is no run.
BEGINS_WITHIN_SECONDS = 60.0
# The watcher writes how the process ended soon after that.
END_WRITTEN_WITHIN_SECONDS = 5.0
# A command that does not end must not keep the next one waiting for ever.
COMMAND_SECONDS = 60.0


def main(directory: str, command: str) -> None:
    """Runs until the run has ended.

    Args:
        directory: That of the attempt.
        command: The user's command and its arguments, as a list in JSON; may be empty.
    """
    with contextlib.suppress(OSError):
        os.nice(10)
    Follower(Path(directory), json.loads(command)).run()


class Follower:
    """Tells the changes of one attempt."""

    def __init__(self, directory: Path, command: Sequence[str]) -> None:
        self._reader = AttemptReader(directory)
        self._logdir = directory.parents[2]
        self._command = list(command)
        self._judging = LiveJudge()
        self._known: tuple[Verdict, ...] = ()

    def run(self) -> None:
        began = time.monotonic()
        gone_since: float | None = None
        while True:
            self._reader.refresh()
            attempt = self._reader.attempt
            if attempt.start is not None:
                story = self._judging.look(attempt, life_of(attempt, time.time()))
                self._tell(attempt, story)
                if story.state not in ("running", "stuck"):
                    gone_since = gone_since or time.monotonic()
                    waited = time.monotonic() - gone_since
                    is_written = attempt.last(facts.ProcessEnded) is not None
                    if is_written or waited > END_WRITTEN_WITHIN_SECONDS:
                        self._say("ended", attempt, story, story.verdict)
                        return
            elif time.monotonic() - began > BEGINS_WITHIN_SECONDS:
                return
            time.sleep(PERIOD_SECONDS)

    def _tell(self, attempt: Attempt, story: Story) -> None:
        if story.state not in ("running", "stuck"):
            # How it ended is told once, when all of it is known.
            return
        for change in changes(self._known, story.findings):
            self._say(change.kind, attempt, story, change.finding)
        self._known = story.findings

    def _say(
        self, kind: str, attempt: Attempt, story: Story, finding: Verdict | None
    ) -> None:
        payload: VerdictPayload | None = verdict_payload(finding) if finding else None
        start = attempt.start
        line = json.dumps(
            {
                "kind": kind,
                "logdir": str(self._logdir),
                "host": start.host if start else None,
                "pid": start.pid if start else None,
                "state": story.state,
                "step": attempt.last_step,
                "headline": finding.headline if finding else story.headline,
                "finding": payload,
            }
        )
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.write(line + "\n")
            sys.stdout.flush()
        if self._command:
            _run(self._command, line)


def _run(command: Sequence[str], line: str) -> None:
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        subprocess.run(
            command,
            input=line,
            text=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=COMMAND_SECONDS,
            check=False,
        )
