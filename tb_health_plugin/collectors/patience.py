"""Calls what is slow or may never come back, without waiting for it for ever."""

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Patience:
    """Makes one call at a time, each on a thread of its own.

    A call that hangs cannot be ended. It is left alone, and until it comes back no
    other one is begun: threads do not pile up behind a driver that is stuck.

    Args:
        who: Who is called, for messages.
    """

    def __init__(self, who: str) -> None:
        self._who = who
        self._thread: threading.Thread | None = None
        self._began = 0.0

    def ask(self, call: Callable[[], T], seconds: float) -> T:
        """What the call returns or raises.

        Raises:
            TimeoutError: It did not come back in time, or an earlier one still did not.
        """
        if self._thread is not None and self._thread.is_alive():
            raise TimeoutError(self._silent())
        answers: list[T] = []
        errors: list[BaseException] = []

        def run() -> None:
            try:
                answers.append(call())
            except BaseException as error:  # noqa: BLE001 - raised again by who waits
                errors.append(error)

        self._began = time.monotonic()
        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()
        self._thread.join(seconds)
        if errors:
            raise errors[0]
        if not answers:
            raise TimeoutError(self._silent())
        return answers[0]

    def _silent(self) -> str:
        passed = time.monotonic() - self._began
        return f"{self._who} has not answered for {passed:.0f} s"


class Errand(Generic[T]):
    """One slow call at a time, made beside everything else.

    Nobody waits for it: its answer is fetched when it is there. One that hangs is left
    alone, and no other is begun.
    """

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._answers: list[T] = []

    def begin(self, call: Callable[[], T]) -> None:
        """Makes the call unless an earlier one is still under way.

        Args:
            call: Must not raise.
        """
        if self._thread is None or not self._thread.is_alive():
            run = lambda: self._answers.append(call())  # noqa: E731 - one line, once
            self._thread = threading.Thread(target=run, daemon=True)
            self._thread.start()

    def fetch(self) -> T | None:
        """What came since this was asked last; None if nothing did."""
        return self._answers.pop() if self._answers else None
