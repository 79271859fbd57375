"""Times the other callbacks of a `fit`, and notes the exceptions that leave them."""

import time
from typing import Any

import keras

from tb_health_plugin.recording.fitting.around import Unseen
from tb_health_plugin.recording.fitting.fit import Fit, Raised
from tb_health_plugin.recording.fitting.inside import inside, name_of

_WHAT = "time spent in callbacks"
_HOOKS = (
    "on_train_begin",
    "on_train_end",
    "on_epoch_begin",
    "on_epoch_end",
    "on_train_batch_begin",
    "on_train_batch_end",
    "on_batch_begin",
    "on_batch_end",
    "on_test_begin",
    "on_test_end",
    "on_test_batch_begin",
    "on_test_batch_end",
)
# After these a step of training is finished; they are told which.
_AFTER_A_STEP = ("on_train_batch_end", "on_batch_end")
# Part of every `fit`, and nobody's choice.
_LEFT_OUT = (keras.callbacks.History, keras.callbacks.ProgbarLogger)
_OURS = __name__.partition(".")[0]


class CallbackWatch:
    """Stands around the hooks that the other callbacks really have."""

    def __init__(self, fit: Fit) -> None:
        self._fit = fit
        self._hooks: list[_Hook] = []

    def begin(self) -> None:
        for callback in self._fit.callbacks:
            if isinstance(callback, _LEFT_OUT) or _is_ours(callback):
                continue
            for name in _HOOKS:
                if _has(callback, name):
                    hook = _Hook(self._fit, callback, name)
                    self._hooks.append(hook)
                    hook.put()

    def end(self) -> None:
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()


class _Hook(Unseen):
    """One hook of one callback."""

    def __init__(self, fit: Fit, callback: Any, name: str) -> None:
        super().__init__(callback, name)
        self._fit = fit
        self._shown_name = name_of(callback, self._inner)

    def call(self, *args: Any, **kwargs: Any) -> Any:
        if inside.callback is self._holder:
            # A hook that calls another one of the same callback.
            return self._inner(*args, **kwargs)
        before = inside.callback, inside.name
        inside.callback, inside.name = self._holder, self._shown_name
        began = time.perf_counter()
        try:
            return self._inner(*args, **kwargs)
        except BaseException as error:
            self._note(error, args)
            raise
        finally:
            inside.callback, inside.name = before
            seconds = self._fit.spent.callback_seconds
            took = time.perf_counter() - began
            seconds[self._shown_name] = seconds.get(self._shown_name, 0.0) + took

    def _note(self, error: BaseException, args: tuple[Any, ...]) -> None:
        with self._fit.guard.protect(_WHAT):
            if self._name in _AFTER_A_STEP and args:
                # Our own callback may stand behind this one, and is not told now.
                progress = self._fit.recorder.progress
                done = self._fit.epoch_first_step + int(args[0]) + 1
                progress.step = max(progress.step, done)
            self._fit.raised = Raised(error, "callback", self._shown_name)


def _has(callback: Any, name: str) -> bool:
    if name in vars(callback):
        return True
    base = getattr(keras.callbacks.Callback, name)
    return getattr(type(callback), name, base) is not base


def _is_ours(callback: Any) -> bool:
    return type(callback).__module__.partition(".")[0] == _OURS
