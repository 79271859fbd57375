"""How `fit` was called, and on what it runs."""

import os
import sys
from typing import Any

from tb_health_plugin.recording.fitting.fit import Fit
from tb_health_plugin.recording.fitting.gpu_memory import gpu_settings
from tb_health_plugin.recording.fitting.plain_text import LONGEST, attribute, plain

_GIVEN_AS_VALUE = (
    "batch_size",
    "epochs",
    "steps_per_epoch",
    "validation_steps",
    "validation_batch_size",
    "validation_freq",
    "validation_split",
)
_GIVEN_AT_ALL = ("class_weight", "sample_weight")
_OURS = "tb_health_plugin"


def settings_of(fit: Fit) -> dict[str, str]:
    """Settings by name; the vocabulary is in events/settings.py."""
    found = {name: plain(fit.arguments.get(name)) for name in _GIVEN_AS_VALUE}
    for name in _GIVEN_AT_ALL:
        if fit.arguments.get(name) is not None:
            found[name] = "given"
    found["callbacks"] = _callbacks(fit.callbacks)
    stopping = [one for one in fit.callbacks if _may_stop(type(one))]
    found["callbacks.stopping"] = _callbacks(stopping) or "none"
    found["callbacks.lines"] = _lines(fit.callbacks)
    found["cpus"] = str(_cpus())
    found |= _versions()
    found |= _strategy(fit.model)
    found |= _tensorflow()
    return {name: text for name, text in found.items() if text}


def _callbacks(callbacks: list[Any]) -> str:
    kinds = [
        type(callback).__name__
        for callback in callbacks
        if type(callback).__module__.partition(".")[0] != _OURS
    ]
    return ", ".join(kinds)[:LONGEST]


def _lines(callbacks: list[Any]) -> str:
    """Where the code of each is, as in "Goal train.py:12-30": stacks name lines only.

    No source is read: compiled functions know their lines.
    """
    found = []
    for kind in dict.fromkeys(type(callback) for callback in callbacks):
        if kind.__module__.partition(".")[0] in (_OURS, "keras"):
            continue
        codes = [attribute(one, "__code__") for one in vars(kind).values()]
        lines = [
            line
            for code in codes
            if code is not None
            for *_, line in code.co_lines()
            if line
        ]
        if lines:
            file = next(code for code in codes if code is not None).co_filename
            name = file.rpartition("/")[2]
            found.append(f"{kind.__name__} {name}:{min(lines)}-{max(lines)}")
    return "; ".join(found)[:LONGEST]


def _may_stop(kind: type) -> bool:
    """Its own code names what stops a training; what it calls is not followed."""
    return any(
        "stop_training" in (attribute(attribute(one, "__code__"), "co_names") or ())
        for part in kind.__mro__
        for one in vars(part).values()
    )


def _cpus() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _versions() -> dict[str, str | None]:
    packages = ("tensorflow", "keras")
    return {
        name: plain(attribute(sys.modules.get(name), "__version__"))
        for name in packages
    }


def _strategy(model: Any) -> dict[str, str | None]:
    strategy = attribute(model, "distribute_strategy")
    if strategy is None:
        return {}
    name = type(strategy).__name__
    is_default = "Default" in name
    return {
        "strategy": None if is_default else name,
        "replicas": plain(attribute(strategy, "num_replicas_in_sync")),
    }


def _tensorflow() -> dict[str, str | None]:
    # Keras may run on another backend: TensorFlow is never imported by us.
    tf: Any = sys.modules.get("tensorflow")
    if tf is None:
        return {}
    threading = tf.config.threading
    return {
        "threads.intra_op": str(threading.get_intra_op_parallelism_threads()),
        "threads.inter_op": str(threading.get_inter_op_parallelism_threads()),
        "functions.eager": str(tf.config.functions_run_eagerly()),
        **gpu_settings(tf),
    }
