"""Arguments that several commands take."""

import argparse
from pathlib import Path


def add_run(parser: argparse.ArgumentParser) -> None:
    """Adds what names a run: `logdir`, and `run` if it is not the latest there."""
    parser.add_argument(
        "logdir",
        type=Path,
        nargs="?",
        default=Path(),
        help="the directory TensorBoard reads, or that of one run (default: here)",
    )
    parser.add_argument("--run", help="name of the run (default: the latest)")
