"""Starts a real TensorBoard and tells where it answers."""

import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

STARTUP_SECONDS = 120.0
_ADDRESS = re.compile(r"at (http://\S+?)/? \(Press")


class TensorBoardServer:
    """A TensorBoard process.

    Attributes:
        url: Where it answers, without a slash at the end.
    """

    def __init__(self, process: "subprocess.Popen[bytes]", log: Path) -> None:
        self.process = process
        self._log = log
        self.url = self._wait_for_address()

    @property
    def log(self) -> str:
        """What it printed so far."""
        return self._log.read_text(errors="replace")

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> bytes:
        request = urllib.request.Request(
            f"{self.url}{path}", headers=dict(headers or {})
        )
        with urllib.request.urlopen(request, timeout=30) as response:
            body: bytes = response.read()
        return body

    def json(self, path: str) -> Any:
        return json.loads(self.get(path))

    def _wait_for_address(self) -> str:
        deadline = time.monotonic() + STARTUP_SECONDS
        while time.monotonic() < deadline:
            found = _ADDRESS.search(self.log)
            if found:
                return found[1]
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        raise RuntimeError(f"TensorBoard did not start. It printed:\n{self.log}")


@contextlib.contextmanager
def tensorboard(
    arguments: Sequence[str],
    *,
    port: int = 0,
    python: str = sys.executable,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> Iterator[TensorBoardServer]:
    """Runs TensorBoard with these arguments until the block ends."""
    command = [python, "-m", "tensorboard.main", *arguments, f"--port={port}"]
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "tensorboard.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=cwd,
                env={**os.environ, "PYTHONUNBUFFERED": "1", **(env or {})},
            )
        try:
            yield TensorBoardServer(process, log)
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def wait_until(check: Any, *, seconds: float = 60.0) -> Any:
    """Asks `check` until it answers with something true; returns that.

    Raises:
        TimeoutError: It never did.
    """
    deadline = time.monotonic() + seconds
    answer = None
    while time.monotonic() < deadline:
        with contextlib.suppress(urllib.error.URLError, ConnectionError):
            answer = check()
            if answer:
                return answer
        time.sleep(0.2)
    raise TimeoutError(f"nothing came within {seconds:.0f} s; last answer: {answer!r}")
