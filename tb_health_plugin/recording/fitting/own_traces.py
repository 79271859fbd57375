"""Marks calls of the model that are ours, so that they are not taken for the program's.

with ours():
    model.make_train_function(force=True)
"""

import contextlib
import threading
from collections.abc import Iterator


class _Ours(threading.local):
    depth = 0


_state = _Ours()


@contextlib.contextmanager
def ours() -> Iterator[None]:
    """Whatever this thread calls in here, we call."""
    _state.depth += 1
    try:
        yield
    finally:
        _state.depth -= 1


def is_ours() -> bool:
    return _state.depth > 0
