"""Shapes or types that do not fit, in the many words of TensorFlow, Keras and NumPy."""

import re
from dataclasses import dataclass

from tb_health_plugin.diagnosis.ending import Ending
from tb_health_plugin.diagnosis.exceptions.failure import failure
from tb_health_plugin.diagnosis.exceptions.raised import Raised
from tb_health_plugin.diagnosis.verdict import Fix

# A shape as people and libraries write it: (None, 8), [28,1].
_S = r"[\[(][\d\s,.?None]*[\])]"
_SHAPES = (
    # Layers and inputs of Keras.
    r"is incompatible with the layer",
    r"Invalid input shape for input",
    r"expected (?:axis|min_ndim|max_ndim|ndim|shape)\b",
    r"expects \d+ (?:named )?input\(?s?\)?.{0,200}\breceived \d+ input",
    r"expected .{0,60}to have (?:shape|\d+ dimensions)",
    r"Computed output size would be (?:zero or )?negative|Negative dimension size",
    r"One of the dimensions in the output is <= 0",
    # Targets against outputs.
    r"must have the same (?:shape|rank|first dimension)",
    r"must have the same number of (?:samples|dimensions)",
    r"must have rank \(ndim\)|must be (?:of )?rank \d|rank mismatch",
    r"logits and labels must|`?logits`? and `?labels`? must",
    r"Data cardinality is ambiguous",
    # Operations.
    r"Incompatible shapes?\b",
    r"Shapes? .{0,120}?(?:are|is) (?:incompatible|not compatible)",
    r"Shapes must be equal|shapes? (?:must|do not|don't|does not) match",
    r"Dimensions? .{0,60}must (?:be equal|match)|Dimensions must be equal",
    r"Dimension \d+ in both shapes must be equal",
    r"shape mismatch|mismatch(?:ed)? (?:in )?(?:shapes?|dimensions?|its core dim)",
    r"Matrix size-incompatible|In\[0\] .{0,60}In\[1\]",
    r"ConcatOp : |Input to reshape is a tensor with",
    r"input depth must be|is not a multiple of input depth of filter",
    r"not compatible with (?:supplied|expected|the expected) shape",
    r"could not (?:be )?broadcast|Required broadcastable shapes",
    r"not aligned: \d+ \(dim",
    r"cannot reshape (?:array|a tensor)",
    r"all (?:the )?input arrays? must have (?:the )?same|must match exactly",
    r"inhomogeneous shape|setting an array element with a sequence",
    # Elements of a data set.
    r"Cannot batch tensors with different shapes",
    r"Cannot add tensor to the batch: number of elements does not match",
    r"yielded an element of shape|yielded an element that (?:could|did) not",
    r"mat1 and mat2 shapes cannot be multiplied",
    r"slice index -?\d+ of dimension \d+ out of bounds",
)
_TYPES = (
    r"Invalid dtype: ?\w+",
    r"Failed to convert a (?:NumPy array|Python (?:list|object)) to a Tensor",
    r"Unsupported object type",
    r"Unrecognized data type",
    r"Failed to find data adapter",
    r"Cannot convert .{0,200}to EagerTensor of dtype",
    r"Can't convert .{0,80}(?:to Tensor|object)",
    r"was expected to be an? \w+ tensor but is an? \w+ tensor",
    r"has type \w+ that does not match (?:expected )?type",
    r"Tensor conversion requested dtype",
    r"could not be converted to (?:a )?[Tt]ensor",
    r"could not convert string to float",
    r"Value passed to parameter .{0,60}has DataType \w+ not in",
    r"yielded an element of type",
    r"[Mm]ismatched dtypes?|dtype mismatch|incompatible dtypes?",
    r"must be of the same dtype|expected .{0,40}\bdtype\b.{0,40}(?:got|but|found)",
    r"No matching signature found|Cast string to float is not supported",
)
_SHAPE = re.compile("|".join(_SHAPES), re.IGNORECASE)
_TYPE = re.compile("|".join(_TYPES), re.IGNORECASE)
_CLASSES = (
    "ValueError",
    "TypeError",
    "InvalidArgumentError",
    "UnimplementedError",
    "RuntimeError",
    "IndexError",
    "AssertionError",
    "UnknownError",
    "AbortedError",
    "XlaRuntimeError",
)
# The two shapes, what was expected first.
_PAIRS = (
    re.compile(
        rf"expected shape ?=? ?(?P<want>{_S}).{{0,80}}?shape ?=? ?(?P<got>{_S})", re.I
    ),
    re.compile(
        rf"expected (?P<want>(?:min_|max_)?ndim ?=? ?\d).{{0,60}}?Full shape received: "
        rf"(?P<got>{_S})",
        re.I,
    ),
    re.compile(
        rf"yielded an element of shape (?P<got>{_S}).{{0,40}}?shape (?P<want>{_S})",
        re.I,
    ),
)
_AXIS = re.compile(
    r"expected axis (?P<axis>-?\d+) of input shape to have value (?P<want>\d+).{0,60}?"
    rf"shape (?P<got>{_S})",
    re.I,
)
_ROWS = re.compile(r"'(\w+)' sizes: (\d+)")
_TARGETS = re.compile(
    rf"target\.shape=(?P<got>{_S}).{{0,20}}?output\.shape=(?P<want>{_S})"
    rf"|labels(?: shape)? (?P<labels>{_S}).{{0,40}}?logits(?: shape)? (?P<logits>{_S})"
    rf"|logits(?:_size)?(?: shape)?[ =](?P<logits2>{_S}).{{0,40}}?"
    rf"labels(?:_size)?(?: shape)?[ =](?P<labels2>{_S})",
    re.S,
)
# Two shapes that met; neither is the right one.
_BOTH = (
    re.compile(rf"had shape (?P<want>{_S}).{{0,40}}?had shape (?P<got>{_S})"),
    re.compile(rf"(?P<want>{_S}) (?:vs\.?|and) (?P<got>{_S})"),
    re.compile(rf"In\[0\]: (?P<want>{_S}), In\[1\]: (?P<got>{_S})"),
    re.compile(rf"with input shapes: (?P<want>{_S}), (?P<got>{_S})"),
)
_LAYER = re.compile(
    r"of layer \"?'?([\w/]+)\"?'?|calling layer \"?'?([\w/]+)|Layer \"([\w/]+)\""
)
_CALLED = re.compile(r"Exception encountered when calling (\w+)\.call\(\)")
# A longer name leaves no room for the shapes in a headline.
_LONGEST_NAME = 30


def do_not_fit(raised: Raised) -> Ending | None:
    """Shapes or types that do not fit; None if this is something else."""
    for voice in raised.voices:
        if voice.name not in _CLASSES:
            continue
        if _TYPE.search(voice.message):
            if raised.in_data and raised.inner and "yielded" not in voice.message:
                # A record that Python code could not read: the pipeline's own fault.
                return None
            return _ending(raised, voice.message, "dtype")
        if _SHAPE.search(voice.message):
            return _ending(raised, voice.message, "shape")
    return None


def _ending(raised: Raised, message: str, detail: str) -> Ending:
    met = _met(message)
    layer = _layer(message)
    place = raised.place
    if layer:
        place["layer"] = layer
    return failure(
        raised,
        id="shape_mismatch",
        detail=detail,
        headline=_headline(raised, detail, met, layer),
        because="The operation that got them refused them and said so.",
        place=place,
        fixes=_fixes(raised, message, detail, met),
        chip="Wrong type" if detail == "dtype" else "Wrong shape",
    )


@dataclass(frozen=True, slots=True)
class _Met:
    """Two shapes that do not fit.

    Attributes:
        kind: "expected" (one and what came instead), "targets" (outputs of the model
            and targets), "axis" (a length in a shape) or "both" (neither is the right
            one).
        one: The first of them.
        other: The second.
        axis: Which axis has the wrong length.
    """

    kind: str
    one: str
    other: str
    axis: int | None = None


def _met(message: str) -> _Met | None:
    length = _AXIS.search(message)
    if length:
        return _Met("axis", length["want"], length["got"], int(length["axis"]))
    for pattern in _PAIRS:
        found = pattern.search(message)
        if found:
            return _Met("expected", found["want"], found["got"])
    found = _TARGETS.search(message)
    if found:
        outputs = found["want"] or found["logits"] or found["logits2"]
        targets = found["got"] or found["labels"] or found["labels2"]
        return _Met("targets", outputs, targets)
    for pattern in _BOTH:
        found = pattern.search(message)
        if found:
            return _Met("both", found["want"], found["got"])
    return None


def _layer(message: str) -> str | None:
    found = _LAYER.search(message)
    if found:
        return next(name for name in found.groups() if name)
    called = _CALLED.search(message)
    return called[1] if called else None


def _headline(raised: Raised, detail: str, met: _Met | None, layer: str | None) -> str:
    where = raised.where
    rows = _ROWS.findall(raised.whole) if "cardinality" in raised.whole else []
    if len(rows) > 1:
        told = ", ".join(f"{name} has {int(size):,}" for name, size in rows[:3])
        return f"Inputs and targets differ in their number of rows: {told}"
    if detail == "dtype":
        kind = re.search(r"Invalid dtype: ?(\w+)", raised.whole)
        ending = f": the data is of type {kind[1]}" if kind else ""
        return f"Types do not fit {where}{ending}"
    if met is None:
        return f"Shapes do not fit {where}"
    if met.kind == "targets" and met.one == met.other:
        loss = raised.setting("loss") or "the loss"
        return f"Targets {met.other} have a column per class; {loss} takes one number"
    if met.kind == "targets":
        return f"Targets {met.other} do not fit outputs {met.one} {where}"
    name = layer if layer and len(layer) <= _LONGEST_NAME else None
    if met.kind == "expected":
        return f"{name or 'The model'} expects {met.one} and got {met.other}, {where}"
    if met.kind == "axis":
        axis = "last axis" if met.axis == -1 else f"axis {met.axis}"
        who = name or "The model"
        return f"{who} expects {met.one} in the {axis} and got {met.other}, {where}"
    inside = f" in {name}" if name else ""
    return f"Shapes {met.one} and {met.other} do not fit{inside} {where}"


def _fixes(
    raised: Raised, message: str, detail: str, met: _Met | None
) -> tuple[Fix, ...]:
    if detail == "dtype":
        return (
            Fix(
                title="Give the model numbers of one type",
                why=f"It said: {raised.in_short}",
                code='x = np.asarray(x, dtype="float32")',
            ),
        )
    fixes = []
    if met is not None and _is_rest(raised, met):
        fixes.append(
            Fix(
                title="Leave out the last, smaller batch, or take its size as it comes",
                why=f"{met.one} and {met.other} differ in the number of rows: the last "
                "batch of an epoch has what is left. Those rows are not trained on.",
                code=f"dataset = dataset.batch({raised.setting('batch_size')}, "
                "drop_remainder=True)",
            )
        )
    if met is not None and met.kind == "targets":
        fixes.append(_targets(raised, met))
    if met is not None and _is_channels_first(met):
        fixes.append(
            Fix(
                title="Move the channels to the last axis",
                why=f"{met.other} has {met.one} in axis 1, as for channels first.",
                code="x = np.moveaxis(x, 1, -1)",
            )
        )
    if "cardinality" in message:
        fixes.append(
            Fix(
                title="Give as many targets as inputs",
                why="Look first where rows got lost. To cut is right only if those "
                "that are too many come last: a row must keep its target.",
                code=_cut_to_shortest(raised),
            )
        )
    line = raised.line_words
    fixes.append(
        Fix(
            title=f"Compare the shapes at {line}" if line else "Compare the shapes",
            why=f"It said: {raised.in_short}",
            code="print(model.input_shape, model.output_shape)",
        )
    )
    return tuple(fixes)


def _is_channels_first(met: _Met) -> bool:
    """Images or signals whose axis 1 has what the last one should have."""
    lengths = re.findall(r"\d+|None", met.other)
    return met.axis == -1 and len(lengths) > 3 and lengths[1] == met.one


def _cut_to_shortest(raised: Raised) -> str | None:
    rows = [int(size) for _, size in _ROWS.findall(raised.whole)]
    return f"x, y = x[:{min(rows)}], y[:{min(rows)}]" if rows else None


def _targets(raised: Raised, met: _Met) -> Fix:
    loss = raised.setting("loss") or "the loss"
    if re.search(r"^sparse|Sparse", loss):
        return Fix(
            title="Give class numbers, or take the loss for one-hot targets",
            why=f"{loss} takes one number per row.",
            code='model.compile(optimizer, "categorical_crossentropy")',
        )
    if re.search(r"categorical", loss, re.IGNORECASE):
        return Fix(
            title="Give one-hot targets, or take the loss for class numbers",
            why=f"{loss} takes one column per class.",
            code='model.compile(optimizer, "sparse_categorical_crossentropy")',
        )
    outputs = re.findall(r"\d+|None", met.one)
    targets = re.findall(r"\d+|None", met.other)
    code = "print(y.shape, model.output_shape)"
    if len(targets) == 1 and outputs[1:] == ["1"]:
        code = "y = y.reshape(-1, 1)"
    elif len(targets) == len(outputs) == 2 and targets[1].isdecimal():
        code = f"keras.layers.Dense({targets[1]})  # as the last layer"
    return Fix(
        title="Make targets as wide as the last layer, or the layer as wide as them",
        why=f"{loss} compares them number by number: {met.other} with {met.one}.",
        code=code,
    )


def _is_rest(raised: Raised, met: _Met) -> bool:
    """They differ in the rows alone, and one has as many as a batch."""
    sides = [re.findall(r"\d+", one) for one in (met.one, met.other)]
    if not all(sides) or sides[0][1:] != sides[1][1:]:
        return False
    rows = {int(side[0]) for side in sides}
    batch = raised.setting("batch_size") or ""
    return len(rows) == 2 and batch.isdecimal() and max(rows) == int(batch)
