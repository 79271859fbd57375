"""Where much work is done: here, on all cores, or on a Ray cluster.

Each engine calls a function with every item, and gives the results in that order.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any, Protocol, TypeVar

A = TypeVar("A")
B = TypeVar("B")

# Below this, starting more processes takes longer than they would save.
WORTH_PROCESSES = 24
# Handed to a process at a time: many, or it waits for the next ones.
AT_ONCE = 8
RAY_AT_ONCE = 32


class NoEngine(Exception):
    """The engine that was asked for is not there. The message says what to do."""


class Engine(Protocol):
    """Calls a function with every item."""

    def __call__(self, call: Callable[[A], B], items: Sequence[A]) -> Iterator[B]: ...


def cores() -> int:
    """Cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except (AttributeError, OSError):
        return os.cpu_count() or 1


def on_all_cores(call: Callable[[A], B], items: Sequence[A]) -> Iterator[B]:
    """In processes of this machine, if that is worth it."""
    if len(items) < WORTH_PROCESSES or cores() == 1:
        yield from map(call, items)
        return
    with ProcessPoolExecutor(cores()) as pool:
        yield from pool.map(call, items, chunksize=AT_ONCE)


def on_ray(call: Callable[[A], B], items: Sequence[A]) -> Iterator[B]:
    """On the cluster that `RAY_ADDRESS` names, else on one that lives as long as this.

    Raises:
        NoEngine: Ray is not installed, or the cluster does not answer.
    """
    ray = _ray()
    began = not ray.is_initialized()
    if began:
        try:
            ray.init(log_to_driver=False, logging_level="ERROR")
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise NoEngine(f"Ray cannot be reached: {error}") from error
    try:
        task = ray.remote(_call_each)
        waiting = [
            task.remote(call, items[first : first + RAY_AT_ONCE])
            for first in range(0, len(items), RAY_AT_ONCE)
        ]
        for one in waiting:
            yield from ray.get(one)
    finally:
        if began:
            ray.shutdown()


def _call_each(call: Callable[[A], B], items: Sequence[A]) -> list[B]:
    return [call(item) for item in items]


def _ray() -> Any:
    try:
        # An extra of its own, and slow to load.
        import ray  # noqa: PLC0415
    except ImportError as error:
        raise NoEngine(
            "--ray needs Ray: pip install 'tensorboard-plugin-health[ray]'"
        ) from error
    return ray
