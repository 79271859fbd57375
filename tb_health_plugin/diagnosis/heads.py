"""What a model ends in: its last layer, and the loss that judges its output."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from tb_health_plugin.diagnosis.case import Training
from tb_health_plugin.events import facts

LossKind = Literal[
    "sparse",
    "categorical",
    "binary",
    "squared",
    "absolute",
    "elementwise",
]

# Names of Keras' losses in lower case without underscores. "elementwise": compares
# number by number, so shapes that differ are broadcast without a word.
_KINDS: Mapping[str, LossKind] = {
    "sparsecategoricalcrossentropy": "sparse",
    "categoricalcrossentropy": "categorical",
    "categoricalfocalcrossentropy": "categorical",
    "binarycrossentropy": "binary",
    "binaryfocalcrossentropy": "binary",
    "bce": "binary",
    "meansquarederror": "squared",
    "mse": "squared",
    "meanabsoluteerror": "absolute",
    "mae": "absolute",
    "meanabsolutepercentageerror": "elementwise",
    "mape": "elementwise",
    "meansquaredlogarithmicerror": "elementwise",
    "msle": "elementwise",
    "huber": "elementwise",
    "logcosh": "elementwise",
}
CROSS_ENTROPIES = ("sparse", "categorical", "binary")
REGRESSIONS = ("squared", "absolute", "elementwise")

# Models whose last layer is known for sure. Of others it is the one that a look saw to
# be judged by the loss, else, not for sure, the one made last.
# One of several losses, as in "age: mse, kind: sparse_categorical_crossentropy".
_NAMED_LOSS = re.compile(r"([\w.-]+): (\w+(?:\([^()]*\))?)(?=,|$)")
_KNOWN_GRAPHS = ("Sequential", "Functional")
_REGULARIZERS = (
    "kernel_regularizer",
    "recurrent_regularizer",
    "embeddings_regularizer",
    "bias_regularizer",
    "activity_regularizer",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The end of a model with one output.

    Attributes:
        layer: Its last layer.
        activation: Of that layer, in lower case; empty if not known.
        units: Size of the last axis of what it gives out.
        kind: What kind of loss judges it; None if it is the program's own.
        loss: The loss as the program gave it.
        from_logits: Whether the loss takes logits; None if it does not say.
        is_certain: That layer is known to be the last one, not only made last.
    """

    layer: facts.Layer
    activation: str
    units: int | None
    kind: LossKind | None
    loss: str
    from_logits: bool | None
    is_certain: bool

    @property
    def loss_name(self) -> str:
        """The loss without its settings."""
        return self.loss.partition("(")[0]


def head_of(training: Training) -> Head | None:
    """The end of the model; None with several outputs, or if it is not known."""
    is_certain = training.setting("model") in _KNOWN_GRAPHS
    judged = _judged_layer(training)
    outputs = training.output_layers
    if judged is not None and not is_certain:
        outputs = [judged]
    if len(outputs) != 1:
        return None
    layer = outputs[0]
    loss = (training.setting("loss") or "").strip()
    return Head(
        layer=layer,
        activation="" if layer.is_custom else layer.activation.lower(),
        units=layer.units,
        kind=loss_kind(loss) if has_plain_step(training) else None,
        loss=loss,
        from_logits=_truth(training.setting("loss.from_logits")),
        is_certain=is_certain or judged is not None,
    )


def heads_of(training: Training) -> list[Head]:
    """The ends of a model with several outputs whose losses are told by name."""
    losses = dict(_NAMED_LOSS.findall(training.setting("loss") or ""))
    if training.setting("model") != "Functional" or not has_plain_step(training):
        return []
    return [
        Head(
            layer=layer,
            activation="" if layer.is_custom else layer.activation.lower(),
            units=layer.units,
            kind=loss_kind(losses[layer.name]),
            loss=losses[layer.name],
            from_logits=_truth(training.setting("loss.from_logits")),
            is_certain=True,
        )
        for layer in training.output_layers
        if layer.name in losses
    ]


def _judged_layer(training: Training) -> facts.Layer | None:
    """The layer whose output was seen to go straight into the loss."""
    seen = {look.judged_layer for look in training.inspections}
    layers = training.started.layers
    if len(seen) != 1:
        return None
    place = seen.pop()
    if place is None or not 0 <= place < len(layers):
        return None
    return layers[place]


def loss_kind(text: str) -> LossKind | None:
    """What kind of loss a setting names; None for several, or one of the program."""
    name = text.partition("(")[0].strip().lower().replace("_", "")
    return _KINDS.get(name)


def has_plain_step(training: Training) -> bool:
    """Keras' own step computes the compiled loss, and nothing else does."""
    steps = (training.setting("train_step"), training.setting("compute_loss"))
    return "custom" not in steps


def has_penalty(training: Training) -> bool:
    """The reported loss holds more than the loss of the outputs, or weighs rows."""
    if weighs_rows(training):
        return True
    layers = training.started.layers
    return any(name in layer.settings for layer in layers for name in _REGULARIZERS)


def weighs_rows(training: Training) -> bool:
    """Some rows or classes count more than others."""
    given = (training.setting("class_weight"), training.setting("sample_weight"))
    return any(given) or any(
        field.role == "weight" for seen in training.batches for field in seen.fields
    )


def penalties(training: Training) -> dict[str, str]:
    """Regularizers by "layer.setting", as the program gave them."""
    return {
        f"{layer.name}.{name}": layer.settings[name]
        for layer in training.started.layers
        for name in _REGULARIZERS
        if name in layer.settings
    }


def _truth(text: str | None) -> bool | None:
    return {"True": True, "False": False}.get(text or "")
