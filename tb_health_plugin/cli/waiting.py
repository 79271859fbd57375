"""Shows that something is under way, if it takes longer than a moment."""

import contextlib
import threading
from collections.abc import Iterator

from rich.console import Console

# Shorter waits need no word, and a word that flickers is worse than none.
MOMENT_SECONDS = 1.0


@contextlib.contextmanager
def waiting(words: str) -> Iterator[None]:
    """Says so on standard error, if that is a terminal, until the block ends."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    status = console.status(words)
    timer = threading.Timer(MOMENT_SECONDS, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        status.stop()
