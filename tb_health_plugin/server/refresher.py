"""Keeps the view fresh from a thread, as long as somebody looks at the tab."""

import logging
import threading
import time
from collections.abc import Callable

_LOG = logging.getLogger("tb_health_plugin")

# Nobody asked for this long: stop reading until somebody does.
IDLE_SECONDS = 60.0
# How long an answer may wait for data that is older than the interval.
PATIENCE_SECONDS = 0.5


class Refresher:
    """Calls `refresh` every so often; a fault is logged once and tried again.

    Args:
        refresh: Reads what is new.
        interval_seconds: TensorBoard's reload interval; 0 or less: read once.
        clock: Seconds; never jumps.
    """

    def __init__(
        self,
        refresh: Callable[[], None],
        interval_seconds: float,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._refresh = refresh
        self._interval = interval_seconds
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

    def asked(self) -> None:
        """Somebody looks: waits a moment for fresh data if ours is old."""
        now = self._clock()
        self._asked_at = now
        with self._done:
            before = self._refreshed_at
            if before is not None and now - before < max(self._interval, 1.0):
                return
            if before is not None and self._interval <= 0:
                return
            self._wanted.set()
            self._done.wait_for(
                lambda: self._refreshed_at != before, timeout=PATIENCE_SECONDS
            )

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
