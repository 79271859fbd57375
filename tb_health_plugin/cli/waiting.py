"""Shows how far something is, if it takes longer than a moment."""

import contextlib
import threading
from collections.abc import Iterator

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from tb_health_plugin.reading.library import Tick

# Shorter waits need no word, and a word that flickers is worse than none.
MOMENT_SECONDS = 1.0


@contextlib.contextmanager
def waiting(words: str) -> Iterator[Tick]:
    """A bar on standard error, if that is a terminal, until the block ends.

    Yields:
        Tells the bar how many are done, and of how many. It may be left alone.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda done, of: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    progress = Progress(*columns, console=console, transient=True)
    task = progress.add_task(words, total=None)
    timer = threading.Timer(MOMENT_SECONDS, progress.start)
    timer.daemon = True
    timer.start()
    try:
        yield lambda done, of: progress.update(task, completed=done, total=of)
    finally:
        timer.cancel()
        timer.join()
        progress.stop()
