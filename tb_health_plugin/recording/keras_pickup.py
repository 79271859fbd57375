"""Records every training of a program that knows nothing of us.

Keras is never imported by us: once the program has done it, `keras.Model.fit` gets our
callback beside the program's own, and optimizers tell of hand-written loops.
"""

import contextlib
import functools
import importlib
import inspect
import os
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from tb_health_plugin.recording.attempts import Attempt
from tb_health_plugin.recording.fitting.around import passed_over

_WHAT = "trainings that Keras runs"
_MODULE = "keras"
_LOOPS = "tb_health_plugin.recording.optimizer_pickup"


def pick_up_keras(attempt: Attempt, logdir: Path, *, in_graphs: bool = False) -> None:
    """Lets `attempt`, the one of `logdir`, record each `fit` from now on.

    Args:
        attempt: What records.
        logdir: Where.
        in_graphs: Measure inside of a `tf.function` of hand-written loops, too.
    """

    def imported() -> None:
        loops: Any = None
        with attempt.guard.protect("training loops"):
            # Imports Keras, so it must not happen before the program does so.
            module = importlib.import_module(_LOOPS)
            loops = module.OptimizerPickup(attempt, in_graphs=in_graphs)
            loops.wrap()
        with attempt.guard.protect(_WHAT):
            _wrap_fit(attempt, logdir, loops)

    if _MODULE in sys.modules:
        imported()
    else:
        sys.meta_path.insert(0, _AfterImport(_MODULE, imported))


class _AfterImport:
    """Calls `then` once, as soon as a module has been imported by somebody.

    It finds nothing itself, and goes away when it has seen the module: what the
    program sees of the module is what it would see without us.
    """

    def __init__(self, name: str, then: Callable[[], None]) -> None:
        self._name = name
        self._then = then

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != self._name:
            return None
        spec = self._ask_the_others(name, path, target)
        if spec is not None and spec.loader is not None:
            with contextlib.suppress(AttributeError):  # a loader without room for it
                self._follow(spec.loader)
        return spec

    def _ask_the_others(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None
    ) -> ModuleSpec | None:
        for finder in sys.meta_path:
            if finder is not self and hasattr(finder, "find_spec"):
                spec = finder.find_spec(name, path, target)
                if spec is not None:
                    return spec
        return None

    def _follow(self, loader: Any) -> None:
        def exec_module(module: ModuleType) -> None:
            del loader.exec_module
            loader.exec_module(module)
            with contextlib.suppress(ValueError):
                sys.meta_path.remove(self)
            self._then()

        # On the instance: the class of the loader serves other modules too.
        loader.exec_module = exec_module


def _wrap_fit(attempt: Attempt, logdir: Path, loops: Any) -> None:
    keras = importlib.import_module(_MODULE)
    fit = keras.Model.fit
    signature = inspect.signature(fit)

    @functools.wraps(fit)
    @passed_over
    def recorded_fit(self: Any, *args: Any, **kwargs: Any) -> Any:
        given, leave = (self, *args), _nothing_to_undo
        # A forked child is not the program that was launched.
        if os.getpid() == attempt.pid:
            if loops is not None:
                loops.end()
            with attempt.guard.protect(_WHAT):
                call = _bind(signature, given, kwargs)
                if call is not None:
                    leave = _join(call, attempt, logdir)
                    given, kwargs = call.args, call.kwargs
        try:
            return fit(*given, **kwargs)
        finally:
            leave()
            if loops is not None:
                loops.fit_ended()

    keras.Model.fit = recorded_fit


def _bind(
    signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> inspect.BoundArguments | None:
    try:
        return signature.bind(*args, **kwargs)
    except TypeError:
        # A mistake of the program: Keras shall tell it in its own words.
        return None


def _join(
    call: inspect.BoundArguments, attempt: Attempt, logdir: Path
) -> Callable[[], None]:
    """Puts our callback into the call, unless one for the same recording is there.

    Returns:
        What to do when the call has returned.
    """
    keras = importlib.import_module(_MODULE)
    given: Any = call.arguments.get("callbacks")
    is_made = isinstance(given, keras.callbacks.CallbackList)
    present = given.callbacks if is_made else keras.tree.flatten(given or [])
    callback = _callback(logdir)
    if any(isinstance(c, type(callback)) and c.records_into(attempt) for c in present):
        return _nothing_to_undo
    if not is_made:
        call.arguments["callbacks"] = [*present, callback]
        return _nothing_to_undo
    # Keras takes this one as it is, so ours has to be told what the others know.
    callback.set_model(call.args[0])
    callback.set_params(given.params or {})
    present.append(callback)

    def leave() -> None:
        with contextlib.suppress(ValueError):
            present.remove(callback)

    return leave


def _nothing_to_undo() -> None:
    pass


def _callback(logdir: Path) -> Any:
    # Imports Keras, so it must not happen before the program does so.
    module = importlib.import_module("tb_health_plugin.recording.keras_callback")
    return module.HealthCallback(logdir)
