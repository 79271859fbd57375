"""How a batch is handed to a step of Keras that expects an iterator."""

import weakref
from typing import Any

import tensorflow as tf

# How an iterator says that there is no further batch.
END_OF_DATA = (StopIteration, tf.errors.OutOfRangeError)

# What steps were last traced for: a program may call `fit` a thousand times.
_traced: "weakref.WeakKeyDictionary[Any, Any]" = weakref.WeakKeyDictionary()


def trace_for(step: Any, iterator: Any) -> None:
    """Has `step` traced as Keras would: once, for the types of the iterator.

    Called with a batch, it would be traced for each shape of a batch anew. Nothing
    runs here. What fails here fails again when the step runs, and is told then.
    """
    handed = tf.autograph.experimental.do_not_convert(lambda one: step(iter((one,))))
    try:
        spec = iterator.element_spec
        if _traced.get(step) != spec:
            tf.function(handed).get_concrete_function(spec)
            _traced[step] = spec
    except Exception:  # noqa: BLE001 - the step itself will raise it
        return
