"""Arguments that several commands take."""

import argparse
import glob
import os
from pathlib import Path

from tb_health_plugin.events.attempt import is_remote

# How deep below the current directory a run is looked for by its name.
_BELOW = ("*/", "*/*/")


def place(text: str) -> Path | str:
    """A directory, or the address of one on an object store, as it was given."""
    return text if is_remote(text) else Path(text)


def add_run(parser: argparse.ArgumentParser) -> None:
    """Adds what names a run: `logdir`, and `run` if it is not the latest there."""
    parser.add_argument(
        "logdir",
        type=_directory,
        nargs="?",
        default=Path(),
        metavar="RUN|LOGDIR",
        help="the directory TensorBoard reads, that of one run, or the name of a run "
        "in a directory below this one (default: here)",
    )
    parser.add_argument("--run", help="name of the run (default: the latest)")


def _directory(given: str) -> Path | str:
    """A directory as it was given; else the one of the run that is called so."""
    if is_remote(given):
        return given
    path = Path(given).expanduser()
    if path.is_absolute() or os.path.lexists(path):
        return path
    found = [
        one
        for above in _BELOW
        for one in sorted(Path().glob(above + glob.escape(given)))
        if one.is_dir()
    ]
    if len(found) > 1:
        names = " or ".join(map(str, found[:5]))
        raise argparse.ArgumentTypeError(f"{given!r} may be {names}: name one")
    return found[0] if found else path
