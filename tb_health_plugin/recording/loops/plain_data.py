"""Data of a loop that nobody handed to us: the time that the program waits for it.

A hand-written loop that goes over a `tf.data.Dataset` asks its iterator for each
element. While a loop is watched, we stand in front of that.
"""

import functools
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from tb_health_plugin.recording.fitting.fit import Fit
from tb_health_plugin.recording.loops.batches import Batches
from tb_health_plugin.recording.loops.numbers import inside_function
from tb_health_plugin.recording.loops.quick_guard import guarded

WHAT = "the data that the loop fetches by itself"


class PlainData:
    """Watches iterators of tf.data from the beginning of a loop to its end.

    Args:
        fit: The training.
        batches: What is known of its data.
        asked: Called when the loop asks for an element.
        got: Called when it got one.
        ended: Called when there was none.
        is_alone: Nothing else trains now, such as a `fit` inside of the loop.
    """

    def __init__(
        self,
        fit: Fit,
        batches: Batches,
        *,
        asked: Callable[[], None],
        got: Callable[[], None],
        ended: Callable[[], None],
        is_alone: Callable[[], bool],
    ) -> None:
        self._guard = fit.guard
        self._batches = batches
        self._asked, self._got, self._ended = asked, got, ended
        self._is_alone = is_alone
        self._thread = threading.get_ident()
        self._wrapped: list[tuple[Any, Any, Any]] = []

    def begin(self) -> None:
        tf: Any = sys.modules.get("tensorflow")
        if tf is None:
            return
        for kind in _all_below(tf.data.Iterator):
            inner = vars(kind).get("__next__")
            if inner is not None:
                ours = self._around(inner)
                kind.__next__ = ours
                self._wrapped.append((kind, inner, ours))

    def end(self) -> None:
        while self._wrapped:
            kind, inner, ours = self._wrapped.pop()
            # Somebody else may have come after us.
            if vars(kind).get("__next__") is ours:
                kind.__next__ = inner

    def _around(self, inner: Callable[[Any], Any]) -> Callable[[Any], Any]:
        @functools.wraps(inner)
        def fetch(elements: Any) -> Any:
            if not self._is_for_us():
                return inner(elements)
            guarded(self._guard, WHAT, self._asked)
            batches = self._batches
            # Dropped now: no more elements live at a time than without us.
            batches.last = None
            began = time.perf_counter()
            try:
                element = inner(elements)
            except BaseException as error:
                seconds = time.perf_counter() - began
                guarded(self._guard, WHAT, self._missed, error, seconds)
                raise
            seconds = time.perf_counter() - began
            guarded(self._guard, WHAT, self._took, element, seconds)
            return element

        return fetch

    def _is_for_us(self) -> bool:
        if self._guard.is_off(WHAT) or self._batches.is_told or not self._wrapped:
            if self._batches.seen:
                # The program hands us its data: nothing else will count.
                self.end()
            return False
        if threading.get_ident() != self._thread or inside_function():
            return False
        return self._is_alone()

    def _missed(self, error: BaseException, seconds: float) -> None:
        self._batches.missed(error, seconds)
        self._ended()

    def _took(self, element: Any, seconds: float) -> None:
        self._batches.waited_for(element, seconds)
        self._got()


def _all_below(kind: Any) -> Iterator[Any]:
    for one in kind.__subclasses__():
        yield one
        yield from _all_below(one)
