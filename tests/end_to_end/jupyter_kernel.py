"""A real Jupyter kernel: cells go in, what a notebook would show comes out."""

import contextlib
import os
import queue
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from jupyter_client.manager import KernelManager

CELL_SECONDS = 240


class Kernel:
    """A kernel that is asked as a notebook asks it."""

    def __init__(self, manager: KernelManager) -> None:
        self._manager = manager
        self._client = manager.client()
        self._connect()

    def run(self, code: str) -> list[dict[str, Any]]:
        """Runs a cell to its end; what it shows, as Jupyter's messages."""
        return self.finish(self.start(code))

    def start(self, code: str) -> str:
        """Starts a cell."""
        return str(self._client.execute(code, allow_stdin=False))

    def finish(self, cell: str) -> list[dict[str, Any]]:
        """Waits for the end of a cell."""
        shown: list[dict[str, Any]] = []
        while True:
            message = self._client.get_iopub_msg(timeout=CELL_SECONDS)
            if message["parent_header"].get("msg_id") != cell:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "status" and content["execution_state"] == "idle":
                return shown
            shown.append({"type": kind, **content})

    def interrupt(self) -> None:
        """The button with the square."""
        self._manager.interrupt_kernel()

    def restart(self) -> None:
        """The button with the arrow: what runs is killed."""
        self._client.stop_channels()
        self._manager.restart_kernel(now=True)
        self._client = self._manager.client()
        self._connect()

    def close(self) -> None:
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)

    def _connect(self) -> None:
        self._client.start_channels()
        self._client.wait_for_ready(timeout=CELL_SECONDS)


@contextlib.contextmanager
def kernel(folder: Path, environment: Mapping[str, str]) -> Iterator[Kernel]:
    """A kernel that works in `folder`, until the block ends."""
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel(
        cwd=str(folder),
        env={**os.environ, **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    running = Kernel(manager)
    try:
        yield running
    finally:
        with contextlib.suppress(queue.Empty, RuntimeError):
            running.close()
