"""What the user wants to happen when something is found: nothing, unless asked for.

The rules run in a process of their own (`tb_health_plugin/reacting.py`), which is
started only if it is needed. A thread hears what it finds. The training itself is
touched in one place alone, between two steps: it is saved and asked to stop.
"""

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import tb_health_plugin
from tb_health_plugin.events.stop_words import NAN, stop_words
from tb_health_plugin.recording.attempts import Attempt
from tb_health_plugin.recording.guard import Guard

WHAT = "reactions to findings"
# It leaves its parent at once, like the watcher, so that nobody has to wait for it.
_BOOT = (
    "import os, sys\n"
    "if os.fork(): os._exit(0)\n"
    # Nothing of the current folder may be imported in place of what it needs.
    "getattr(sys.flags, 'safe_path', sys.flags.isolated) or sys.path.pop(0)\n"
    "sys.path.append(sys.argv[1])\n"
    "from tb_health_plugin.reacting import main\n"
    "main(*sys.argv[2:])\n"
)

Listener = Callable[[Mapping[str, Any]], object]


class Reactions:
    """What one callback shall do.

    Args:
        stop_on: Verdicts, families of them, or "nan".
        save_before_stop: Where to save the model first.
        on_finding: A function, or a command with its arguments.

    Attributes:
        stop_for: What the training shall be stopped for, as soon as that is known.

    Raises:
        ValueError: One of them makes no sense.
    """

    def __init__(
        self,
        stop_on: Sequence[str] = (),
        save_before_stop: "str | os.PathLike[str] | None" = None,
        on_finding: "Listener | Sequence[str] | None" = None,
    ) -> None:
        self._words = stop_words(stop_on)
        if save_before_stop is not None and not self._words:
            raise ValueError("save_before_stop needs stop_on: nothing would stop")
        if isinstance(on_finding, str):
            raise ValueError(
                f"on_finding={on_finding!r} must be a function, or a command as a list "
                "of its words"
            )
        self._save_to = save_before_stop
        self._listener: Listener | None = None
        self._command: tuple[str, ...] = ()
        if callable(on_finding):
            self._listener = on_finding
        elif on_finding is not None:
            self._command = tuple(map(str, on_finding))
        self.stop_for: str | None = None

    @property
    def on_nan(self) -> bool:
        """Stop at the first loss that is not a number."""
        return NAN in self._words

    def begin(self, attempt: Attempt) -> None:
        """A training begins: follows it, if anything but its loss matters."""
        if not (self._words - {NAN} or self._listener or self._command):
            return
        # Callbacks of one attempt share a follower: tuners make one for each trial.
        is_first = self._command not in attempt.hearing
        attempt.hearing.setdefault(self._command, []).append(self._heard)
        if is_first:
            threading.Thread(
                target=_follow,
                args=(attempt, self._command),
                name="training-health-reactions",
                daemon=True,
            ).start()

    def end(self, attempt: Attempt) -> None:
        """The training is over: nothing more can be done to it."""
        with contextlib.suppress(KeyError, ValueError):
            attempt.hearing[self._command].remove(self._heard)

    def saw_nan(self) -> None:
        if self.on_nan and self.stop_for is None:
            self.stop_for = NAN

    def carry_out(self, model: Any, guard: Guard) -> str | None:
        """Saves and stops, if that is due. Called between two steps.

        Returns:
            What it was stopped for; None if it goes on.
        """
        reason, self.stop_for = self.stop_for, None
        if reason is None:
            return None
        # Once is enough: what was asked for has happened.
        self._words = frozenset()
        if self._save_to is not None:
            with guard.protect("the save before a stop"):
                model.save(os.fspath(self._save_to))
        return reason

    def _heard(self, told: Mapping[str, Any], guard: Guard) -> None:
        finding = told.get("finding") or {}
        is_there = told["kind"] in ("opened", "changed")
        matters = finding.get("severity") in ("warning", "critical")
        if is_there and matters and finding.get("id") in self._words:
            self.stop_for = finding["id"]
        if self._listener is not None and told["kind"] != "ended":
            with guard.protect("the function given as on_finding"):
                self._listener(told)


def _follow(attempt: Attempt, command: tuple[str, ...]) -> None:
    """Runs in a thread: starts the follower and hands on what it says."""
    with attempt.guard.protect(WHAT):
        root = str(Path(tb_health_plugin.__file__).parent.parent)
        directory = str(attempt.recorder.directory)
        with subprocess.Popen(
            [sys.executable, "-c", _BOOT, root, directory, json.dumps(command)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            text=True,
        ) as follower:
            assert follower.stdout is not None
            for line in follower.stdout:
                for hear in list(attempt.hearing[command]):
                    hear(json.loads(line), attempt.guard)
