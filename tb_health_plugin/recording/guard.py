"""The one place where a fault of ours ends, so that it never reaches the training."""

import contextlib
import logging
from collections.abc import Callable, Iterator

_LOG = logging.getLogger("tb_health_plugin")


class Guard:
    """Catches what fails, says it once, and switches that part off.

    Args:
        failed: Told what is no longer recorded and why.
    """

    def __init__(self, failed: Callable[[str, str], None]) -> None:
        self._failed = failed
        self._off: set[str] = set()

    def is_off(self, what: str) -> bool:
        return what in self._off

    @contextlib.contextmanager
    def protect(self, what: str) -> Iterator[None]:
        """Runs a part of the recording; `what` names it in words a user knows."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - this is the one place
            why = f"{type(error).__name__}: {error}"
            if what not in self._off:
                self._off.add(what)
                warn(what, why)
                with contextlib.suppress(Exception):
                    self._failed(what, why)


def warn(what: str, why: str) -> None:
    """One clear line in the user's log."""
    _LOG.warning(
        "Training Health stopped recording %s (%s). The training goes on.", what, why
    )
