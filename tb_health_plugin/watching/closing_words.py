"""One sentence on the user's terminal when a training was ended by a signal.

The terminal is opened for that sentence alone and never held: a descriptor of ours on
the program's output could keep others waiting for its end.
"""

import contextlib
import os
import signal

from tb_health_plugin.writing.terms import Terms


def say_the_end(terms: Terms, number: int, step: int) -> None:
    """Says it, if there is a terminal; never fails and never waits."""
    if not terms.terminal:
        return
    text = (
        f"\nTraining Health: the training was ended by {_name(number)} at step "
        f"{step:,}.\nTo see what led to it: tensorboard --logdir {terms.logdir}\n"
    )
    with contextlib.suppress(OSError):
        terminal = os.open(
            terms.terminal, os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC
        )
        try:
            os.write(terminal, text.encode("utf-8", "replace"))
        finally:
            os.close(terminal)


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
