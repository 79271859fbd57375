"""Where the files of one attempt lie: one process that trains, start to end.

TensorBoard's loaders look for "tfevents" in file names. Ours have it nowhere, so
a damaged or busy file of ours can neither stop nor starve theirs.
"""

import os
import re
import secrets
import socket
import time
from dataclasses import dataclass
from pathlib import Path

from tb_health_plugin.events.tags import PLUGIN_NAME

# TensorBoard's own convention for data of a plugin.
HEALTH_DIRECTORY = Path("plugins") / PLUGIN_NAME

_SUFFIX = ".tfrecord"
_SCHEME = re.compile("[a-zA-Z][0-9a-zA-Z.+-]*://")


def is_remote(logdir: "str | os.PathLike[str]") -> bool:
    """It is the address of an object store, as in "s3://bucket/logs"."""
    return _SCHEME.match(os.fspath(logdir)) is not None


@dataclass(frozen=True, slots=True)
class FileName:
    """`records.000.tfrecord` or `samples.000.tfrecord`, numbered in order."""

    kind: str
    number: int

    def __str__(self) -> str:
        return f"{self.kind}.{self.number:03d}{_SUFFIX}"

    @classmethod
    def parse(cls, name: str) -> "FileName | None":
        """None if no writer of ours gave this name."""
        kind, _, rest = name.partition(".")
        number = rest.removesuffix(_SUFFIX)
        if kind not in ("records", "samples") or not number.isdecimal():
            return None
        parsed = cls(kind, int(number))
        return parsed if str(parsed) == name else None


def new_attempt_directory(logdir: Path, *, now: float | None = None) -> Path:
    """Makes a directory of its own for this process below `logdir`.

    Raises:
        ValueError: `logdir` is a file, or nothing can be written there; the
            message says which.
    """
    started = time.strftime("%Y%m%d-%H%M%S", time.gmtime(now))
    host = "".join(c for c in socket.gethostname() if c.isalnum() or c in "-_")[:64]
    name = f"{started}-{host or 'host'}-{os.getpid()}-{secrets.token_hex(3)}"
    directory = logdir / HEALTH_DIRECTORY / name
    try:
        directory.mkdir(parents=True)
    except (FileExistsError, NotADirectoryError) as error:
        in_the_way = next(p for p in (directory, *directory.parents) if p.exists())
        raise ValueError(
            f"logdir={str(logdir)!r} cannot be used: {str(in_the_way)!r} is a file "
            "(expected a directory, or a path where one can be made)"
        ) from error
    except OSError as error:
        raise ValueError(
            f"logdir={str(logdir)!r} cannot be written to: {error.strerror} "
            f"({error.filename!r}). Pass a directory this user may write to."
        ) from error
    return directory
