"""The hook for hand-written loops: `with watch("logs/run1") as health: ...`."""

import atexit
import os
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

from tb_health_plugin.recording.attempts import Attempt, attempt_for
from tb_health_plugin.recording.loops.batches import WatchedData
from tb_health_plugin.recording.loops.loop import STEPS, Loop
from tb_health_plugin.recording.loops.numbers import inside_function
from tb_health_plugin.recording.loops.quick_guard import guarded
from tb_health_plugin.recording.own_summary import summary_of
from tb_health_plugin.recording.reactions import Listener, Reactions
from tb_health_plugin.recording.recorder import PERIOD_SECONDS

_EPOCHS = "epochs of the loop"
_DATA = "the data of the loop"
_STOP = "the wish to stop the loop"
_INSIDE = "it was called inside a tf.function, which runs it only once"


def watch(
    logdir: "str | os.PathLike[str]",
    *,
    model: Any = None,
    optimizer: Any = None,
    planned_steps: int | None = None,
    gradients: bool = False,
    period_seconds: float = PERIOD_SECONDS,
    watcher: bool = True,
    rules: Mapping[str, Any] | None = None,
    stop_on: Sequence[str] = (),
    save_before_stop: "str | os.PathLike[str] | None" = None,
    on_finding: "Listener | Sequence[str] | None" = None,
) -> "Watch":
    """Records the health of a hand-written training loop.

        with watch("logs/run1", model=model, optimizer=optimizer) as health:
            for x, y in health.dataset(dataset):
                loss = train_step(x, y)
                health.step(loss=loss)

    Without `with`, call `close` when the training is over; else it is over when the
    program ends.

    Args:
        logdir: The run's directory, the same that other TensorBoard writers of the run
            use. Made if it is missing.
        model: What is trained: a model, or a list or dict of models.
        optimizer: What trains it, or a list or dict of those. Left out, it is the one
            that the model was compiled with.
        planned_steps: Steps that the loop is meant to have.
        gradients: Measure gradients inside of `tf.function`, too. This puts a few
            operations into the functions that are traced meanwhile, which can then not
            go into a SavedModel. Gradients of eager loops are measured anyway.
        period_seconds: Time between two samples of memory and progress.
        watcher: Start a small process that watches from outside, so that a kill, a
            crash or a hang is seen too. It ends with the program.
        rules: Silences rules or tunes their numbers for this run, as in
            `{"overfitting": "off", "input_bound.warning_share": 0.8}`. `tb-health
            explain` lists rules, `tb-health explain input_bound` its numbers.
        stop_on: Set `should_stop` when one of these is found: "nan" for a loss that is
            no number, the id of a rule, or a family as "memory". The loop is yours:
            ask `health.should_stop` after each step, and leave it.
        save_before_stop: Save the model there first; needs one `model`.
        on_finding: Called with a dict for each finding that opens, changes or closes;
            or a command as a list of its words, which gets it as a line of JSON.

    Raises:
        ValueError: Something given cannot be used; the message says why. After that,
            nothing of ours ever raises into the training.
    """
    if not period_seconds > 0:
        raise ValueError(f"period_seconds={period_seconds!r} must be a number above 0")
    reactions = Reactions(stop_on, save_before_stop, on_finding)
    models = _named(model, "model")
    if save_before_stop is not None and len(models) != 1:
        raise ValueError("save_before_stop needs one model: watch(..., model=model)")
    attempt = attempt_for(
        logdir, period_seconds=period_seconds, watcher=watcher, rules=rules
    )
    optimizers = _named(optimizer, "optimizer")
    if not optimizers:
        compiled = [(name, getattr(one, "optimizer", None)) for name, one in models]
        optimizers = [(name, one) for name, one in compiled if one is not None]
    return Watch(
        attempt,
        os.fspath(logdir),
        reactions,
        models=models,
        optimizers=optimizers,
        planned_steps=planned_steps,
        in_graphs=gradients,
    )


class Watch:
    """A training loop under watch; made by `watch`."""

    def __init__(
        self, attempt: Attempt, logdir: str, reactions: Reactions, **what: Any
    ) -> None:
        self._attempt = attempt
        self._logdir = logdir
        self._reactions = reactions
        self._model = what["models"][0][1] if what["models"] else None
        self._stopped_for: str | None = None
        self._is_heeded = False
        self._guard = attempt.guard
        self._loop: Loop | None = None
        with self._guard.protect(STEPS):
            self._loop = Loop(attempt, **what)
            self._loop.lost = reactions.saw_nan
            self._loop.begin()
            reactions.begin(attempt)
            # Runs before what was registered earlier: the end of the recording.
            atexit.register(self.close)

    def step(self, loss: Any = None, **metrics: Any) -> None:
        """A training step has ended.

        Args:
            loss: Its loss: a number or a tensor. A tensor on a GPU is read one step
                later, so that nobody waits for it.
            metrics: Other numbers of the loop; the last ones are kept.
        """
        if self._loop is not None:
            guarded(self._guard, STEPS, self._told, self._loop, loss, metrics)
            if self._reactions.stop_for is not None:
                guarded(self._guard, _STOP, self._stop)

    @property
    def should_stop(self) -> bool:
        """Something of `stop_on` was found: leave the loop. Else always False."""
        if self._stopped_for is not None:
            self._is_heeded = True
        return self._is_heeded

    def epoch_end(self, **metrics: Any) -> None:
        """An epoch has ended; for loops that know epochs.

        Args:
            metrics: Its results by name, as in `val_loss=0.3`. Without a `loss` the
                mean of those told to `step` counts.
        """
        if self._loop is not None:
            guarded(self._guard, _EPOCHS, self._loop.epoch_ended, metrics)

    def dataset(self, data: Any) -> Any:
        """Stands for the training data: the same elements, with the wait for each.

        Loop over it outside of `tf.function`. A function that loops over a dataset by
        itself is given the dataset itself; what it does is then one step.
        """
        loop = self._loop
        if loop is None:
            return data
        with self._guard.protect(_DATA):
            loop.given(data)
        return WatchedData(data, loop.batches)

    def summary(self) -> Any:
        """What is said of this run by now; a notebook shows it in the cell."""
        return summary_of(self._logdir, self._attempt)

    def close(self) -> None:
        """The training is over. What is called later does nothing."""
        self._end(None)

    def __enter__(self) -> "Watch":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end(error)

    def _told(self, loop: Loop, loss: Any, metrics: Mapping[str, Any]) -> None:
        if inside_function():
            raise RuntimeError(_INSIDE)
        loop.told(loss, metrics)

    def _stop(self) -> None:
        """Saves first, if that was asked for; then the loop hears of it."""
        self._stopped_for = self._reactions.carry_out(self._model, self._guard)

    def _end(self, error: BaseException | None) -> None:
        loop, self._loop = self._loop, None
        atexit.unregister(self.close)
        self._reactions.end(self._attempt)
        if loop is not None:
            if error is None and self._is_heeded and self._stopped_for is not None:
                guarded(self._guard, _STOP, loop.stopped, self._stopped_for)
            loop.end(error)


def _named(given: Any, kind: str) -> list[tuple[str, Any]]:
    """One, a list or a dict of them as pairs of name and thing."""
    if given is None:
        return []
    if isinstance(given, Mapping):
        return [(str(name), one) for name, one in given.items()]
    many = list(given) if isinstance(given, (list, tuple)) else [given]
    names = [str(getattr(one, "name", None) or kind) for one in many]
    return [
        (name if names.count(name) == 1 else f"{name}_{number}", one)
        for number, (name, one) in enumerate(zip(names, many, strict=True))
    ]
