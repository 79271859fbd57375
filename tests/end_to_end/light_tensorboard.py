"""A TensorBoard that starts fast, for tests that are not about how it reads files."""

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from demo import tensorboard_server
from demo.tensorboard_server import TensorBoardServer

_PATH = {"PYTHONPATH": str(Path(__file__).with_name("without_tensorflow"))}


def tensorboard(
    arguments: Sequence[str], *, port: int = 0, env: Mapping[str, str] | None = None
) -> contextlib.AbstractContextManager[TensorBoardServer]:
    """Runs TensorBoard as where TensorFlow is not installed, until the block ends."""
    return tensorboard_server.tensorboard(
        arguments, port=port, env={**_PATH, **(env or {})}
    )
