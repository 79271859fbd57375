"""The data of a loop, handed on element by element, with the time each one takes."""

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tb_health_plugin.recording.fitting.batch_watch import BatchWatch
from tb_health_plugin.recording.fitting.fit import Fit
from tb_health_plugin.recording.loops.numbers import inside_function
from tb_health_plugin.recording.loops.quick_guard import guarded

WHAT = "the data of the loop"
# Batches that are looked at are further and further apart: what is wrong with the data
# shows early, and a loop of short steps has many batches.
APART = 1.2
# Counting the rows of a batch takes microseconds. For so long the next ones are taken
# to have as many: at most the last, shorter batch of a pass counts as a whole one.
ROWS_SECONDS = 0.05


class Batches:
    """What is known of the data of one loop.

    Args:
        fit: The training.
        asked: Called when the loop asks for an element.
        got: Called when it got one.
        ended: Called when there is none any more.

    Attributes:
        guard: Keeps faults of ours away from the loop.
        last: The element that the loop works on; None if it has none.
        seen: Elements so far.
        ran_out: The data came to its end, and nothing came since.
        failed_with: `id` of the exception that came last instead of an element.
    """

    def __init__(
        self,
        fit: Fit,
        *,
        asked: Callable[[], None],
        got: Callable[[], None],
        ended: Callable[[], None],
    ) -> None:
        self.last: Any = None
        self.seen = 0
        self.ran_out = False
        self.failed_with: int | None = None
        self.guard = fit.guard
        self._fit = fit
        self._asked = asked
        self._got = got
        self._ended = ended
        self._number = 0
        self._look_at = 0
        self._batch_watch = BatchWatch(fit)
        # Rows of the elements that come now; None if they have none.
        self._rows: int | None = None
        self._rows_until = 0.0
        self._is_asking = False
        self._unused = False

    def ask(self, fetch: Callable[[], Any]) -> Any:
        """Fetches the next element."""
        guard = self.guard
        if guard.is_off(WHAT):
            return fetch()
        guarded(guard, WHAT, self._asked)
        # Dropped now: no more elements live at a time than without us.
        self.last = None
        self._is_asking = True
        began = time.perf_counter()
        try:
            element = fetch()
        except BaseException as error:
            guarded(guard, WHAT, self._missed, error, time.perf_counter() - began)
            raise
        finally:
            self._is_asking = False
        guarded(guard, WHAT, self._take, element, began, time.perf_counter())
        return element

    @property
    def is_told(self) -> bool:
        """The program hands us its data: then nothing else counts as such."""
        return self._is_asking or self.seen > 0

    @property
    def come_untold(self) -> bool:
        """Steps were trained on data that the program fetched by itself."""
        return self._number > 0 and self.seen == 0

    def waited_for(self, element: Any, seconds: float) -> None:
        """The program fetched something by itself. A step may follow, or not."""
        self._waited(seconds)
        self.last = element
        self._unused = True

    def missed(self, error: BaseException, seconds: float) -> None:
        """The program asked for something by itself, and got an exception."""
        self._waited(seconds)
        self.last = None
        if not isinstance(error, StopIteration):
            self.failed_with = id(error)

    def step_followed(self) -> None:
        """What was fetched last was trained on: data of a validation never is."""
        if not self._unused:
            return
        self._unused = False
        if self._number >= self._look_at:
            step = self._fit.recorder.progress.step
            self._batch_watch.saw(self.last, step, self._number)
            self._look_at = max(self._number + 1, int(self._number * APART))
        self._number += 1

    def _take(self, element: Any, began: float, now: float) -> None:
        fit = self._fit
        self._waited(now - began)
        self.last = element
        self.ran_out = False
        if self.seen >= self._look_at:
            self._batch_watch.saw(element, fit.recorder.progress.step, self._number)
            self._look_at = max(self.seen + 1, int(self.seen * APART))
        self.seen += 1
        self._number += 1
        self._got()
        if now >= self._rows_until:
            self._rows, self._rows_until = _rows(element), now + ROWS_SECONDS
        if self._rows is not None:
            fit.spent.examples = (fit.spent.examples or 0) + self._rows

    def _missed(self, error: BaseException, seconds: float) -> None:
        self._waited(seconds)
        if isinstance(error, StopIteration):
            self.ran_out = True
            self._number = 0
            self._ended()
        else:
            self.failed_with = id(error)

    def _waited(self, seconds: float) -> None:
        spent, progress = self._fit.spent, self._fit.recorder.progress
        spent.wait_seconds = (spent.wait_seconds or 0.0) + seconds
        so_far = progress.wait_seconds
        # What is not measured yet is NaN.
        progress.wait_seconds = seconds + (so_far if so_far == so_far else 0.0)


class WatchedData:
    """Stands for the data of a loop: the same elements, the same attributes."""

    def __init__(self, data: Any, batches: Batches) -> None:
        self._data = data
        self._batches = batches

    def __iter__(self) -> Iterator[Any]:
        if inside_function():
            raise TypeError(
                "health.dataset(...) cannot be looped over inside a tf.function: "
                "give the function the dataset itself, and call health.step() outside"
            )
        return _Elements(iter(self._data), self._batches)

    def __len__(self) -> int:
        return len(self._data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._data, name)


class _Elements:
    """One pass over the data."""

    def __init__(self, elements: Iterator[Any], batches: Batches) -> None:
        self._elements = elements
        self._batches = batches

    def __iter__(self) -> "Iterator[Any]":
        return self

    def __next__(self) -> Any:
        return self._batches.ask(self._elements.__next__)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._elements, name)


def _rows(element: Any) -> int | None:
    """Rows of the first tensor; None if it has no rows."""
    while isinstance(element, (tuple, list, Mapping)) and len(element):
        parts = element.values() if isinstance(element, Mapping) else element
        element = next(iter(parts))
    shape = getattr(element, "shape", None)
    if shape is None or getattr(shape, "rank", 1) is None or not len(shape):
        return None
    return None if shape[0] is None else int(shape[0])
