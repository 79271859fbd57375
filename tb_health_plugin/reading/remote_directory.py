"""A log directory on an object store, followed by a copy that grows with it.

Only our own files are copied, and of them only the bytes that are new. Event files of
TensorBoard are kept as empty files of their name: they say which runs there are.
"""

import math
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from tb_health_plugin.events.attempt import HEALTH_DIRECTORY, FileName
from tb_health_plugin.events.rule_choices import RULES_FILE
from tb_health_plugin.reading.stores import CannotOpen, Store, open_store

# Each look costs at least one request, which somebody pays for.
LEAST_SECONDS_BETWEEN_LOOKS = 5.0
# A file that has been silent is asked for as rarely as it has been silent, and at
# least this often.
MOST_SECONDS_UNASKED = 600.0
# Wishes are written anew as a whole, so they are read anew as a whole.
WISHES_EACH_SECONDS = 60.0


@dataclass(slots=True)
class _Copied:
    """How much of a file is here.

    Attributes:
        length: Bytes of it.
        end: Where they end, in the words of the store.
        asked_at: When its size was last asked for.
        grew_at: When it was last seen to have grown.
    """

    length: int = 0
    end: Any = None
    asked_at: float = -math.inf
    grew_at: float = -math.inf


class RemoteDirectory:
    """The copy of a log directory.

    Attributes:
        address: Where it is, as in "s3://bucket/logs".
        path: Where its copy is. It goes away with this object.
        problem: Why it could not be read the last time; empty if it could.
        is_empty: There was nothing at all below that address.

    Args:
        address: As above.
        clock: Seconds that only ever rise.
    """

    def __init__(
        self, address: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.address = address
        self.path = Path(tempfile.mkdtemp(prefix="tb-health-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)
        self.problem = ""
        self.is_empty = False
        self._clock = clock
        self._store: Store | None = None
        self._looked_at = -math.inf
        self._names: set[str] = set()
        self._copied: dict[str, _Copied] = {}

    def refresh(self) -> None:
        """Copies what is new. Never raises: `problem` says what is wrong."""
        now = self._clock()
        if now - self._looked_at < LEAST_SECONDS_BETWEEN_LOOKS:
            return
        self._looked_at = now
        self.problem = ""
        try:
            if self._store is None:
                self._store = open_store(self.address)
            sizes = self._store.sizes()
        except CannotOpen as error:
            self.problem = str(error)
            return
        except Exception as error:  # noqa: BLE001 - each store has errors of its own
            self.problem = _words(error)
            return
        self.is_empty = not sizes
        wanted = {name: size for name, size in sizes.items() if _is_wanted(name)}
        for name in self._names - wanted.keys():
            self._forget(name)
        self._names = set(wanted)
        for name, size in wanted.items():
            try:
                self._follow(self._store, name, size, now)
            except Exception as error:  # noqa: BLE001 - the other files can be read
                self.problem = f"{_words(error)} ({name})"

    def _follow(self, store: Store, name: str, size: int | None, now: float) -> None:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not _is_ours(name):
            path.touch()
            return
        copied = self._copied.setdefault(name, _Copied())
        is_wish = path.name == RULES_FILE
        must_ask = size is None or is_wish
        if must_ask and now - copied.asked_at < _pause(copied, is_wish):
            return
        if size is None:
            size = store.size(name)
        copied.asked_at = now
        if size < copied.length or is_wish:
            # Somebody wrote it anew.
            path.unlink(missing_ok=True)
            copied.length, copied.end = 0, None
        if size > copied.length:
            _copy(store, name, copied, path, size)
            copied.grew_at = now

    def _forget(self, name: str) -> None:
        self._copied.pop(name, None)
        path = self.path / name
        path.unlink(missing_ok=True)
        for folder in path.parents:
            if folder == self.path or any(folder.iterdir()):
                return
            folder.rmdir()


def _copy(store: Store, name: str, copied: _Copied, path: Path, size: int) -> None:
    with path.open("ab") as file:
        while copied.length < size:
            data, end = store.read(name, copied.end, size)
            if not data:
                return
            file.write(data)
            copied.length += len(data)
            copied.end = end


def _pause(copied: _Copied, is_wish: bool) -> float:
    """How long after the last time a file is asked for again."""
    if is_wish:
        return WISHES_EACH_SECONDS
    silent = copied.asked_at - copied.grew_at if copied.length else 0.0
    return min(silent, MOST_SECONDS_UNASKED)


def _is_wanted(name: str) -> bool:
    place = PurePosixPath(name)
    # A name may hold anything; one that leads elsewhere is not for us.
    is_below = bool(name) and not place.is_absolute() and ".." not in place.parts
    return is_below and (_is_ours(name) or "tfevents" in place.name)


def _is_ours(name: str) -> bool:
    place = PurePosixPath(name)
    if place.name == RULES_FILE:
        return True
    is_in_place = place.parts[-4:-2] == HEALTH_DIRECTORY.parts
    return is_in_place and FileName.parse(place.name) is not None


def _words(error: Exception) -> str:
    said = " ".join(str(error).split())[:200]
    return f"cannot be read: {said or type(error).__name__}"
