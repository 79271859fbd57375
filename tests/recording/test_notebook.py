"""A real kernel, as a notebook has it: cells that fail, are run again, are stopped."""

import queue
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from demo.tensorboard_server import wait_until
from tb_health_plugin.diagnosing import diagnose
from tb_health_plugin.events import facts
from tests.watching.conftest import read, wait_for_end, watchers

pytestmark = [
    pytest.mark.live,
    # Jupyter's own.
    pytest.mark.filterwarnings("default"),
]

SECONDS = 120.0
PREPARE = """
import keras, numpy as np
from tb_health_plugin import HealthCallback
x = np.ones((64, 4), "float32")
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
health = HealthCallback({logdir!r})
bad = [keras.callbacks.LambdaCallback(on_epoch_end=lambda *_: 1 / 0)]
"""
FIT = """model.fit(
    x, x[:, :1], batch_size=8, epochs=epochs, verbose=0, callbacks=[health, *more]
)"""
SAY = "keras.callbacks.LambdaCallback(on_epoch_end=lambda *_: print('epoch'))"


class Notebook:
    """Runs cells in a kernel."""

    def __init__(self) -> None:
        from jupyter_client.manager import start_new_kernel

        self.manager, self.client = start_new_kernel(startup_timeout=SECONDS)

    def start(self, cell: str) -> str:
        return str(self.client.execute(cell))

    def result(self, cell: str) -> str:
        """The name of the error that a cell shows; empty if there is none."""
        while True:
            answer: dict[str, Any] = self.client.get_shell_msg(timeout=SECONDS)
            if answer["parent_header"].get("msg_id") == cell:
                return str(answer["content"].get("ename", ""))

    def run(self, cell: str) -> str:
        return self.result(self.start(cell))

    def wait_for_output(self, word: str) -> None:
        while True:
            try:
                message = self.client.get_iopub_msg(timeout=SECONDS)
            except queue.Empty:
                pytest.fail(f"the cell never said {word!r}")
            if word in str(message["content"].get("text", "")):
                return


@pytest.fixture
def notebook() -> Iterator[Notebook]:
    made = Notebook()
    yield made
    made.client.stop_channels()
    made.manager.shutdown_kernel(now=True)


def test_cells_that_fail_are_run_again_and_are_stopped(
    notebook: Notebook, tmp_path: Path
):
    def told() -> tuple[str, str]:
        answer = diagnose(tmp_path)
        return answer["state"], answer["verdict"]["id"]

    assert notebook.run(PREPARE.format(logdir=str(tmp_path))) == ""

    # The cell fails: it is told although the process goes on.
    assert notebook.run(f"epochs, more = 2, bad\n{FIT}") == "ZeroDivisionError"
    wait_until(lambda: told() == ("failed", "callback_error"))

    # What was wrong is mended, and the cell is run again.
    assert notebook.run(f"more = []\n{FIT}") == ""
    wait_until(lambda: told() == ("finished", "healthy"))

    # The interrupt button, while it trains.
    cell = notebook.start(f"epochs, more = 1_000_000, [{SAY}]\n{FIT}")
    notebook.wait_for_output("epoch")
    notebook.manager.interrupt_kernel()
    assert notebook.result(cell) == "KeyboardInterrupt"
    wait_until(lambda: told() == ("ended_early", "user_interrupt"))

    # One record of all that, which nothing else troubles.
    assert len(list((tmp_path / "plugins/health").iterdir())) == 1
    assert not read(tmp_path).all(facts.RecordingStopped)
    assert not read(tmp_path).all(facts.Stalled)

    # The kernel is shut down: the end is written, and nobody is left.
    notebook.manager.shutdown_kernel()
    wait_for_end(tmp_path)
    wait_until(lambda: not watchers(tmp_path))
    assert told()[0] == "ended_early"
