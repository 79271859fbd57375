"""Counts what Python holds now and then: its objects, and tensors among them.

Python's garbage collector knows all of them. To ask it stops the program for some
milliseconds, so it is asked as often as a thousandth of the time allows.

Nobody may hold a tuple that another thread is still filling: Python cannot give it its
size then, and that thread fails. So while all objects are held no thread may run.
"""

import contextlib
import gc
import sys
import time
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, compress
from typing import Any

EVERY_SECONDS = 30.0
# What counting may take of the time, and at most at once: else never again.
SHARE = 0.001
AT_MOST_SECONDS = 0.25
# So many more tensors than ever before, and it is asked who holds them.
MANY_MORE = 500
# What a program collects things in; held by the attribute or name of somebody. Tuples
# cannot grow, and must not be held.
_CONTAINERS = frozenset((list, dict, set, deque))
_LONGEST_NAME = 80
_OLD = 2


@dataclass(frozen=True, slots=True)
class Counted:
    """Attributes are those of `facts.TimeSpent`."""

    python_objects: int
    tensors: int | None = None
    variables: int | None = None
    tensors_kept_by: str | None = None


class LiveObjects:
    """Counts for all trainings of this process."""

    def __init__(self) -> None:
        self._next_at = 0.0
        self._fewest: int | None = None
        self._told = 0

    def count(self, now: float) -> Counted | None:
        """None if it is not time to, by the monotonic clock."""
        if now < self._next_at:
            return None
        began = time.perf_counter()
        counted = self._count()
        seconds = time.perf_counter() - began
        self._next_at = now + max(EVERY_SECONDS, seconds / SHARE)
        if seconds > AT_MOST_SECONDS:
            self._next_at = float("inf")
        return counted

    def _count(self) -> Counted:
        types = _types_of_all()
        tf: Any = sys.modules.get("tensorflow")
        if tf is None:
            return Counted(len(types))
        kinds = Counter(types)
        tensors = sum(n for kind, n in kinds.items() if issubclass(kind, tf.Tensor))
        variables = sum(n for kind, n in kinds.items() if issubclass(kind, tf.Variable))
        kept_by = self._kept_by(tensors, tf.Tensor)
        return Counted(len(types), tensors, variables, kept_by)

    def _kept_by(self, tensors: int, kind: type) -> str | None:
        """Asked when tensors became many more, and again when twice as many more."""
        if self._fewest is None or tensors < self._fewest:
            self._fewest = tensors
        more = tensors - self._fewest
        if more < max(MANY_MORE, 2 * self._told):
            return None
        found = holder_of(_containers(), kind, at_least=more // 2)
        # Else it is too young, and is asked for again.
        self._told = more if found else self._told
        return found


def _types_of_all() -> list[type]:
    """The type of every object."""
    with _without_collections():
        # One call into C: the list of objects is made, gone through and dropped in it.
        return list(map(type, _all_objects(None)))


def _containers() -> list[Any]:
    """Containers that survived collections, as what is kept for long does.

    A tuple that is being filled is younger, unless that takes very long.
    """
    with _without_collections():
        # One call again, and no name for its parts: they would keep their list.
        return list(
            compress(
                _all_objects(_OLD),
                map(_CONTAINERS.__contains__, map(type, _all_objects(_OLD))),
            )
        )


def _all_objects(generation: int | None) -> Iterator[Any]:
    """Asks the collector only when the first one is fetched."""
    return chain.from_iterable(map(gc.get_objects, (generation,)))


@contextlib.contextmanager
def _without_collections() -> Iterator[None]:
    """A collection may run code of the program."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def holder_of(objects: list[Any], kind: type, *, at_least: int) -> str | None:
    """The container with most instances of `kind`, in words; None if none has many."""
    largest: Any = None
    for one in objects:
        if (
            type(one) in _CONTAINERS
            and one is not objects
            and len(one) >= at_least
            and (largest is None or len(one) > len(largest))
            and _holds(one, kind)
        ):
            largest = one
    if largest is None:
        return None
    name = _name_of(largest, objects)
    called = f", called {name}" if name else ""
    return f"a {type(largest).__name__} of {len(largest):,} tensors{called}"


def _holds(container: Any, kind: type) -> bool:
    """By some of its items: the first, which stays, and of dicts the values."""
    items = container.values() if isinstance(container, dict) else container
    try:
        return isinstance(next(iter(items)), kind)
    except (RuntimeError, StopIteration):  # somebody fills or empties it just now
        return False


def _name_of(container: Any, objects: list[Any]) -> str:
    """The attribute or global variable that it is."""
    for holder in gc.get_referrers(container):
        if holder is objects:
            continue
        own = holder if isinstance(holder, dict) else _attributes(holder)
        for name, value in tuple(own.items()):
            if value is container and isinstance(name, str):
                return f"{_owner(holder, own)}{name}"[:_LONGEST_NAME]
    return ""


def _owner(holder: Any, own: dict[str, Any]) -> str:
    if holder is not own:
        return f"{type(holder).__name__}."
    if "__name__" in own and "__spec__" in own:
        return ""
    for one in gc.get_referrers(own):
        if _attributes(one) is own:
            return f"{type(one).__name__}."
    return ""


def _attributes(holder: Any) -> dict[str, Any]:
    """Its own, past whatever code of the program would run."""
    try:
        own = object.__getattribute__(holder, "__dict__")
    except (AttributeError, TypeError):
        return {}
    return own if isinstance(own, dict) else {}
