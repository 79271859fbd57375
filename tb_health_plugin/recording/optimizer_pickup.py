"""Records hand-written loops of a program that knows nothing of us.

An optimizer of Keras that is called outside of `fit` trains something. Calls in eager
loops are counted as they come, and their loss is what the gradients are taken of. A
`tf.function` calls its optimizer only while it is traced; but Keras itself counts
updates in `optimizer.iterations`, which is read from time to time, in a thread of ours.
No operation is added to any graph, unless somebody asks for what is inside of it.
"""

import atexit
import functools
import importlib
import os
import sys
import threading
import time
from types import CodeType
from typing import Any

from tb_health_plugin.recording.attempts import Attempt
from tb_health_plugin.recording.loops.loop import Loop
from tb_health_plugin.recording.loops.tapes import Tapes
from tb_health_plugin.recording.traces import is_library, outwards
from tb_health_plugin.writing.phases import Phase

WHAT = "training loops"
_NO_LOSS = "the loss of a hand-written loop"
_NOTHING_INSIDE = "loss and gradients of a hand-written loop inside of tf.function"
_WHY_NOT = (
    "the program does not hand them over; tb_health_plugin.watch or tb-health run "
    "--gradients records them"
)
# After so many steps it is clear whether their loss is seen.
_STEPS_TO_SEE = 2
# A few reads of one number per second cost nothing, and a kill hides at most this.
PERIOD_SECONDS = 0.2
# No update for so long, or for this many times the usual gap between two: the
# program may do something else now, and is no longer judged by its steps alone.
QUIET_SECONDS = 3.0
QUIET_TIMES = 4.0

# A call of a function of the program that is under way.
_Frame = tuple[int, CodeType]


class OptimizerPickup:
    """Begins a recorded loop as soon as an optimizer works outside of a training.

    Args:
        attempt: Where it is recorded.
        in_graphs: Measure loss and gradients inside of `tf.function`, too.
    """

    def __init__(self, attempt: Attempt, *, in_graphs: bool = False) -> None:
        self._attempt = attempt
        self._in_graphs = in_graphs
        self._lock = threading.RLock()
        self._loop: Loop | None = None
        self._optimizers: dict[int, Any] = {}
        self._first: dict[int, int] = {}
        self._trainer = threading.main_thread().ident or 0
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._place = LoopPlace()
        # A loop begins with its first update, after its first gradient.
        self._tapes = Tapes(attempt.guard)
        self._steps = 0
        self._stepped_at = time.monotonic()
        self._usual = 0.0
        self._has_told = False

    def wrap(self) -> None:
        """Stands in front of `apply` of all optimizers from now on."""
        keras = importlib.import_module("keras")
        if keras.backend.backend() != "tensorflow":
            return
        kind = keras.optimizers.Optimizer
        inner = kind.apply
        tf: Any = sys.modules["tensorflow"]
        is_new = tf.autograph.experimental.do_not_convert(self._is_new)

        @functools.wraps(inner)
        def apply(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            if is_new(optimizer):
                # By now the loop stands in front of it.
                return optimizer.apply(*args, **kwargs)
            return inner(optimizer, *args, **kwargs)

        kind.apply = apply
        self._tapes.begin()

    def end(self) -> None:
        """The loop is over: something else trains now, or the program ends."""
        with self._lock, self._attempt.guard.protect(WHAT):
            if self._loop is not None:
                self._loop.end()
                self._tell_what_is_missing(self._loop)
                self._loop = None
            self._rebase()

    def fit_ended(self) -> None:
        """What optimizers did until now was counted by others."""
        with self._lock, self._attempt.guard.protect(WHAT):
            self._rebase()

    def _is_new(self, optimizer: Any) -> bool:
        """True if a loop began to follow this optimizer just now."""
        if os.getpid() != self._attempt.pid or self._attempt.guard.is_off(WHAT):
            return False
        loop = self._loop
        if loop is not None and loop.is_open and id(optimizer) in self._optimizers:
            return False
        # A function may be being traced just now: what we read are numbers.
        outside = sys.modules["tensorflow"].init_scope()
        with self._lock, self._attempt.guard.protect(WHAT), outside:
            return self._follow(optimizer)
        return False  # something of ours failed

    def _follow(self, optimizer: Any) -> bool:
        if any(one is not self._loop for one in self._attempt.open):
            return False
        is_known = id(optimizer) in self._optimizers
        self._optimizers[id(optimizer)] = optimizer
        if not is_known:
            self._first[id(optimizer)] = _iterations(optimizer)
            if _is_inside_scaling():
                self._tapes.keeps_losses = False
        if self._loop is None or not self._loop.is_open:
            self._trainer = threading.get_ident()
            self._begin()
            return True
        if not is_known:
            self._loop.follow(_name(optimizer), optimizer)
        return not is_known

    def _begin(self) -> None:
        loop = Loop(
            self._attempt,
            models=[],
            optimizers=[(_name(one), one) for one in self._optimizers.values()],
            planned_steps=None,
            in_graphs=self._in_graphs,
            tapes=self._tapes,
        )
        loop.count_again = self._count
        loop.begin()
        self._loop = loop
        self._steps = 0
        self._stepped_at = time.monotonic()
        if self._thread is None:
            # Runs before what was registered earlier: the end of the recording.
            atexit.register(self._process_ends)
            self._thread = threading.Thread(
                target=self._keep, name="training-health-steps", daemon=True
            )
            self._thread.start()

    def _tell_what_is_missing(self, loop: Loop) -> None:
        if loop.has_loss or self._has_told:
            return
        self._has_told = True
        missing = _NO_LOSS if loop.sees_gradients else _NOTHING_INSIDE
        self._attempt.recorder.recording_stopped(missing, _WHY_NOT)

    def _rebase(self) -> None:
        self._first = {key: _iterations(one) for key, one in self._optimizers.items()}

    def _process_ends(self) -> None:
        self._stop.set()
        self._tapes.end()
        self.end()

    def _keep(self) -> None:
        """Runs in the thread, until the program ends."""
        guard, recorder = self._attempt.guard, self._attempt.recorder
        while not self._stop.wait(PERIOD_SECONDS) and not guard.is_off(WHAT):
            if not recorder.is_live:
                return
            with self._lock, guard.protect(WHAT):
                self._look()

    def _look(self) -> None:
        if any(one is not self._loop for one in self._attempt.open):
            # What a fit does is counted there.
            self._rebase()
        elif self._loop is None or not self._loop.is_open:
            if self._rose() > 0:
                # Traced before: nobody called `apply` in Python again.
                self._begin()
        else:
            self._count()

    def _rose(self) -> int:
        """Updates by the busiest optimizer since the loop began."""
        rose = [
            _iterations(one) - self._first[key] for key, one in self._optimizers.items()
        ]
        return max(rose, default=0)

    def _count(self) -> None:
        loop, now = self._loop, time.monotonic()
        if loop is None or not loop.is_open:
            return
        steps = self._rose()
        if steps > self._steps:
            gap = (now - self._stepped_at) / (steps - self._steps)
            self._usual = max(gap, 0.9 * self._usual)
            self._steps, self._stepped_at = steps, now
            self._place.saw(self._trainer)
            loop.counted(steps)
            if steps > _STEPS_TO_SEE:
                self._tell_what_is_missing(loop)
        elif now - self._stepped_at > max(QUIET_SECONDS, QUIET_TIMES * self._usual):
            is_there = self._place.is_there(self._trainer)
            loop.paused(Phase.BETWEEN_EPOCHS if is_there else Phase.NOT_TRAINING)


class LoopPlace:
    """Where in the program the loop is: seen by which of its functions stay."""

    def __init__(self) -> None:
        self._before: list[_Frame] = []
        self._frame: _Frame | None = None
        self._lines: set[int] = set()

    def saw(self, thread: int) -> None:
        """The loop of this thread just made a step."""
        running = _running(thread)
        stayed = [one for one in self._before if one in running]
        self._before = list(running)
        if not stayed:
            return
        # The innermost one that stayed from one step to another holds the loop.
        if stayed[-1] != self._frame:
            self._frame, self._lines = stayed[-1], set()
        self._lines.add(running[stayed[-1]])

    def is_there(self, thread: int) -> bool:
        """False if the program has left the loop, as far as one can see."""
        if self._frame is None:
            return False
        line = _running(thread).get(self._frame)
        return line is not None and min(self._lines) <= line <= max(self._lines)


def _running(thread: int) -> dict[_Frame, int]:
    """The program's own functions that a thread is in, outermost first, with lines."""
    frames = list(outwards(sys._current_frames().get(thread)))
    return {
        (id(one), one.f_code): one.f_lineno
        for one in reversed(frames)
        if not is_library(one.f_code.co_filename)
    }


def _is_inside_scaling() -> bool:
    """True if a LossScaleOptimizer calls: gradients come from a loss made larger."""
    kind = importlib.import_module("keras").optimizers.LossScaleOptimizer
    callers = outwards(sys._getframe())
    return any(isinstance(one.f_locals.get("self"), kind) for one in callers)


def _iterations(optimizer: Any) -> int:
    return int(optimizer.iterations)


def _name(optimizer: Any) -> str:
    return str(getattr(optimizer, "name", None) or "optimizer")
