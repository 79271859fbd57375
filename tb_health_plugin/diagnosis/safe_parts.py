"""Models whose own parts cannot make a NaN, so that one must come from outside."""

import re

from tb_health_plugin.diagnosis.case import Training
from tb_health_plugin.diagnosis.magnitudes import data_scale
from tb_health_plugin.events import facts

_SAFE_LOSSES = frozenset(
    [
        "mse",
        "meansquarederror",
        "mae",
        "meanabsoluteerror",
        "huber",
        "logcosh",
        "hinge",
        "bce",
        "binarycrossentropy",
        "categoricalcrossentropy",
        "sparsecategoricalcrossentropy",
    ]
)
_SAFE_LAYERS = re.compile(
    r"(Dense|Conv\dD|DepthwiseConv\dD|SeparableConv\dD|\w*Pooling\dD|Activation|ReLU"
    r"|LeakyReLU|Softmax|BatchNormalization|LayerNormalization|Dropout|Flatten|Reshape"
    r"|Embedding|LSTM|GRU|SimpleRNN|Bidirectional|Add|Concatenate|Rescaling)$"
)


def must_be_data(training: Training, fact: facts.FirstBadNumber) -> bool:
    """The batch was not seen, and nothing else can have made the NaN.

    Layers and losses of Keras itself make none out of calm numbers in float32.
    """
    unseen = fact.began_in in (None, "unknown") and not fact.fields
    # Seen so late that the batch which did it was long gone.
    late = fact.began_in == "weights" and not fact.exact
    if not (unseen or late) or fact.value == "inf":
        return False
    if "sparse" in (training.setting("loss") or "").lower():
        # A class that the model does not have makes a NaN, too.
        units = [layer.units for layer in training.output_layers if layer.units]
        highest = data_scale(training, "target")
        if highest is None or not units or highest >= min(units):
            return False
    loss = (training.setting("loss") or "").partition("(")[0].lower()
    plain = training.setting("train_step") == "keras"
    layers = training.started.layers
    types = {variable.dtype for variable in training.started.variables}
    return (
        plain
        and loss.replace("_", "") in _SAFE_LOSSES
        and bool(layers)
        and all(_SAFE_LAYERS.match(layer.kind) for layer in layers)
        and not types & {"float16", "bfloat16"}
        and "16" not in (training.setting("dtype_policy") or "")
    )
