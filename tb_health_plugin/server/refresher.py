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
_LOOKS = 10


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

    def asked(self) -> None:
        """Somebody looks: waits a moment for fresh data if ours is old."""
        now = self._clock()
        self._asked_at = now
        with self._done:
            before = self._refreshed_at
            old = OLD_INTERVALS * max(self._interval, 1.0)
            if before is not None and now - before < old:
                return
            if before is not None and self._interval <= 0:
                return
            self._wanted.set()
            for _ in range(_LOOKS):
                if self._refreshed_at != before or self._is_first_shown(before):
                    return
                self._done.wait(PATIENCE_SECONDS / _LOOKS)

    def _is_first_shown(self, before: float | None) -> bool:
        """The first reading of a large log directory is shown while it goes on."""
        return before is None and self._has_some()

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
