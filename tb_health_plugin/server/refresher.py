"""Keeps the view fresh from a thread, as long as somebody looks at the tab."""

import logging
import threading
import time
from collections.abc import Callable

_LOG = logging.getLogger("tb_health_plugin")

# Nobody asked for this long: stop reading until somebody does.
IDLE_SECONDS = 60.0
# How long an answer may wait for newer data, once ours is older than so many intervals:
# nobody asked for a while. One interval old it is read again by itself.
PATIENCE_SECONDS = 0.5
OLD_INTERVALS = 2
# The same where the answer is believed for as long as a page is open.
LONG_PATIENCE_SECONDS = 5.0
_LOOK_SECONDS = 0.05


class Refresher:
    """Calls `refresh` every so often; a fault is logged once and tried again.

    Args:
        refresh: Reads what is new.
        interval_seconds: TensorBoard's reload interval; 0 or less: read once.
        has_some: There is something to show already, though not all is read yet.
        clock: Seconds; never jumps.
    """

    def __init__(
        self,
        refresh: Callable[[], None],
        interval_seconds: float,
        *,
        has_some: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._refresh = refresh
        self._interval = interval_seconds
        self._has_some = has_some
        self._clock = clock
        self._asked_at = clock()
        self._refreshed_at: float | None = None
        self._wanted = threading.Event()
        self._done = threading.Condition()
        self._said = ""
        self._thread = threading.Thread(
            target=self._run, name="training-health-reader", daemon=True
        )

    def start(self) -> None:
        self._thread.start()

    def asked(self, *, urgent: bool = False) -> None:
        """Somebody looks: waits a moment for fresh data if ours is old.

        Args:
            urgent: The answer will be believed for long: any data is old, and it is
                waited for longer.
        """
        now = self._clock()
        self._asked_at = now
        with self._done:
            before = self._refreshed_at
            old = OLD_INTERVALS * max(self._interval, 1.0)
            if before is not None and now - before < old and not urgent:
                return
            if before is not None and self._interval <= 0:
                return
            self._wanted.set()
            is_first = before is None or not self._has_some()
            patience = LONG_PATIENCE_SECONDS if urgent else PATIENCE_SECONDS
            for _ in range(round(patience / _LOOK_SECONDS)):
                if self._refreshed_at != before:
                    return
                # A large log directory is shown while it is read for the first time.
                if is_first and self._has_some():
                    return
                self._done.wait(_LOOK_SECONDS)

    def _run(self) -> None:
        while True:
            self._wanted.clear()
            self._try()
            if self._interval <= 0:
                return
            idle = self._clock() - self._asked_at > IDLE_SECONDS
            self._wanted.wait(None if idle else self._interval)

    def _try(self) -> None:
        try:
            self._refresh()
        except Exception as error:  # noqa: BLE001 - the next try may succeed
            said = f"{type(error).__name__}: {error}"
            if said != self._said:
                self._said = said
                _LOG.exception("Training Health could not read the log directory")
        with self._done:
            self._refreshed_at = self._clock()
            self._done.notify_all()
