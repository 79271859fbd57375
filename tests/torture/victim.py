"""A training without TensorFlow in a process of its own, for chambers to hurt."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from demo.tensorboard_server import wait_until
from tb_health_plugin.diagnosing import find_run
from tb_health_plugin.diagnosis.engine import judge
from tb_health_plugin.diagnosis.verdict import Story
from tb_health_plugin.events import facts
from tb_health_plugin.reading.attempt_reader import AttemptReader
from tb_health_plugin.reading.run_history import Attempt
from tests.runs import GONE
from tests.torture.chamber import Broken
from tests.watching.conftest import ROOT, command, watchers
from tests.watching.trainer import STEPS

# A busy machine may take this long for what usually takes milliseconds.
PATIENCE_SECONDS = 60.0
LONGEST_LIFE_SECONDS = 1.5


class Victim:
    """A training of `STEPS` short steps that says each step once it is handed over."""

    def __init__(self, logdir: Path, env: Mapping[str, str]) -> None:
        self.logdir = logdir
        self._output = logdir.parent / f"{logdir.name}.out"
        self._errors = logdir.parent / f"{logdir.name}.err"
        _, *rest = command(logdir, "finished")
        with self._output.open("wb") as out, self._errors.open("wb") as err:
            self.process = subprocess.Popen(
                [env.get("TB_HEALTH_TEST_PYTHON", sys.executable), *rest],
                stdout=out,
                stderr=err,
                cwd=ROOT,
                env={**os.environ, "TB_HEALTH_TEST_PATIENCE": "1", **env},
            )

    @property
    def said(self) -> int:
        """The last step that was said as a whole line."""
        lines = self._output.read_bytes().split(b"\n")
        return int(lines[-2]) if len(lines) > 1 else 0

    @property
    def errors(self) -> str:
        return self._errors.read_text(errors="replace")

    def live_for(
        self, rng: random.Random, longest: float = LONGEST_LIFE_SECONDS
    ) -> None:
        """Lets it live for a while, or until it ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(rng.uniform(0.0, longest))

    def watcher(self) -> int | None:
        found = watchers(self.logdir)
        return found[0] if found else None

    def send(self, number: int) -> None:
        self.process.send_signal(number)

    def must_finish_well(self) -> None:
        """What we do to the recording must never reach the training."""
        code = self.process.wait(PATIENCE_SECONDS)
        if code != 0 or self.said != STEPS:
            raise Broken(f"exit {code} after {self.said} steps; it said {self.errors}")

    def recorded(self) -> Attempt:
        """All that was written of it, in one or several starts of the recording."""
        (directory,) = (self.logdir / "plugins/health").iterdir()
        reader = AttemptReader(directory)
        reader.refresh()
        return reader.attempt

    def end_recorded(self) -> facts.ProcessEnded:
        def ended() -> facts.ProcessEnded | None:
            return self.recorded().last(facts.ProcessEnded)

        found: facts.ProcessEnded = wait_until(ended, seconds=PATIENCE_SECONDS)
        return found

    def story(self) -> Story:
        attempt = find_run(self.logdir).latest
        assert attempt is not None
        return judge(attempt, GONE)

    def leave(self) -> None:
        """Ends what is left of it; a watcher that stays is a breach."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for pid in watchers(self.logdir):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        try:
            wait_until(lambda: not watchers(self.logdir), seconds=PATIENCE_SECONDS)
        except TimeoutError:
            left = watchers(self.logdir)
            for pid in left:
                os.kill(pid, signal.SIGKILL)
            raise Broken(f"a watcher outlived its training: {left}") from None


@contextlib.contextmanager
def victim(
    folder: Path | None = None, *, env: Mapping[str, str] = MappingProxyType({})
) -> Iterator[Victim]:
    """A training that has begun, and of which nothing is left afterwards."""
    with tempfile.TemporaryDirectory() as own:
        logdir = (folder or Path(own)) / "run"
        logdir.mkdir()
        made = Victim(logdir, env)
        try:
            wait_until(lambda: made.said or made.process.poll() is not None)
            yield made
        finally:
            made.leave()
