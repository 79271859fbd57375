"""How a batch is handed to a step of Keras that expects an iterator."""

import weakref
from typing import Any

import tensorflow as tf

# How an iterator says that there is no further batch.
END_OF_DATA = (StopIteration, tf.errors.OutOfRangeError)

# What steps were last traced for: a program may call `fit` a thousand times.
_traced: "weakref.WeakKeyDictionary[Any, Any]" = weakref.WeakKeyDictionary()


def trace_for(step: Any, iterator: Any) -> bool:
    """Has `step` traced as Keras would: once, for the types of the iterator.

    Called with a batch, it would be traced for each shape of a batch anew. Nothing
    runs here. False if it cannot be traced: then nobody may call it again, because
    TensorFlow forgets the error and gives out nothing instead. A step that is made
    anew raises it.
    """
    handed = tf.autograph.experimental.do_not_convert(lambda one: step(iter((one,))))
    spec = getattr(iterator, "element_spec", None)
    if spec is None or _traced.get(step) == spec:
        return True
    try:
        tf.function(handed).get_concrete_function(spec)
    except Exception:  # noqa: BLE001 - the step itself will raise it
        return False
    _traced[step] = spec
    return True


def made_anew(model: Any) -> Any:
    """A training step that was never traced; what stands around the old one stays."""
    own = vars(model)
    outermost = own["train_function"]
    try:
        model.make_train_function(force=True)
        return own["train_function"]
    finally:
        own["train_function"] = outermost
