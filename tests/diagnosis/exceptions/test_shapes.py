"""Shapes and types that do not fit, in the words of several versions."""

import pytest

from tests.diagnosis.exceptions.raising import in_graph, in_python, raised

SHAPES = [
    # Keras 3, layers.
    (
        "ValueError",
        "Exception encountered when calling Sequential.call().\n\nInput 0 with name "
        "'None' of layer 'dense' is incompatible with the layer: expected axis -1 of "
        "input shape to have value 8, but received input with shape (32, 9)\n\n"
        "Arguments received by Sequential.call():\n  • training=True",
        "dense expects 8 in the last axis and got (32, 9), at step 1,234",
    ),
    (
        "ValueError",
        'Invalid input shape for input Tensor("data:0", shape=(32, 8, 3)) with name '
        "'x' and path ''. Expected shape (None, 8), but input has incompatible shape "
        "(32, 8, 3)",
        "The model expects (None, 8) and got (32, 8, 3), at step 1,234",
    ),
    (
        "ValueError",
        'Input 0 of layer "lstm" is incompatible with the layer: expected ndim=3, '
        "found ndim=2. Full shape received: (None, 8)",
        "lstm expects ndim=3 and got (None, 8), at step 1,234",
    ),
    # Keras 2.
    (
        "ValueError",
        'Input 0 of layer "sequential" is incompatible with the layer: expected '
        "shape=(None, 28, 28), found shape=(None, 28, 27)",
        "sequential expects (None, 28, 28) and got (None, 28, 27), at step 1,234",
    ),
    (
        "ValueError",
        'Layer "model_1" expects 2 input(s), but it received 1 input tensors. '
        "Inputs received: [<tf.Tensor 'x:0'>]",
        "Shapes do not fit at step 1,234",
    ),
    # Targets against outputs.
    (
        "ValueError",
        "Arguments `target` and `output` must have the same rank (ndim). Received: "
        "target.shape=(32,), output.shape=(32, 5)",
        "Targets (32,) do not fit outputs (32, 5) at step 1,234",
    ),
    (
        "ValueError",
        "`logits` and `labels` must have the same shape, received ((None, 3) vs "
        "(None, 1)).",
        "Shapes (None, 3) and (None, 1) do not fit at step 1,234",
    ),
    (
        "InvalidArgumentError",
        in_graph(
            "logits and labels must have the same first dimension, got logits shape "
            "[32,10] and labels shape [320]"
        ),
        "Targets [320] do not fit outputs [32,10] at step 1,234",
    ),
    (
        "InvalidArgumentError",
        in_graph(
            "logits and labels must be broadcastable: logits_size=[32,2] "
            "labels_size=[32,3]"
        ),
        "Targets [32,3] do not fit outputs [32,2] at step 1,234",
    ),
    (
        "ValueError",
        "Data cardinality is ambiguous. Make sure all arrays contain the same number "
        "of samples.'x' sizes: 64\n'y' sizes: 50\n",
        "Inputs and targets differ in their number of rows: x has 64, y has 50",
    ),
    # Operations.
    (
        "InvalidArgumentError",
        in_graph("Incompatible shapes: [28,1] vs. [32,1]"),
        "Shapes [28,1] and [32,1] do not fit at step 1,234",
    ),
    (
        "InvalidArgumentError",
        "{{function_node __wrapped____MatMul}} Matrix size-incompatible: In[0]: [3,4],"
        " In[1]: [5,6] [Op:MatMul] name: ",
        "Shapes [3,4] and [5,6] do not fit at step 1,234",
    ),
    (
        "ValueError",
        "Dimensions must be equal, but are 32 and 33 for '{{node add}} = AddV2[T="
        "DT_FLOAT](a, b)' with input shapes: [32,8], [33,1].",
        "Shapes [32,8] and [33,1] do not fit at step 1,234",
    ),
    (
        "InvalidArgumentError",
        in_graph(
            "Input to reshape is a tensor with 224 values, but the requested shape has "
            "256"
        ),
        "Shapes do not fit at step 1,234",
    ),
    (
        "ValueError",
        "Computed output size would be zero or negative. Received `inputs shape=(None,"
        " 6, 6, 2)`",
        "Shapes do not fit at step 1,234",
    ),
    (
        "ValueError",
        "Shapes (None, 1) and (None, 10) are incompatible",
        "Shapes (None, 1) and (None, 10) do not fit at step 1,234",
    ),
    # NumPy.
    (
        "ValueError",
        "operands could not be broadcast together with shapes (32,8) (32,7) ",
        "Shapes do not fit at step 1,234",
    ),
    (
        "ValueError",
        "shapes (3,4) and (5,6) not aligned: 4 (dim 1) != 5 (dim 0)",
        "Shapes (3,4) and (5,6) do not fit at step 1,234",
    ),
    # Elements of a data set: the pipeline raises, the shapes are the cause.
    (
        "InvalidArgumentError",
        in_graph(
            "Cannot batch tensors with different shapes in component 0. First element "
            "had shape [8] and element 4 had shape [7].",
            "IteratorGetNext",
        ),
        "Shapes [8] and [7] do not fit at step 1,234",
    ),
    (
        "InvalidArgumentError",
        in_python(
            "TypeError: `generator` yielded an element of shape (7,) where an element "
            "of shape (8,) was expected."
        ),
        "The model expects (8,) and got (7,), at step 1,234",
    ),
    (
        "InvalidArgumentError",
        in_python("ValueError: all input arrays must have the same shape"),
        "Shapes do not fit at step 1,234",
    ),
]
TYPES = [
    ("ValueError", "Invalid dtype: object", ": the data is of type object"),
    (
        "ValueError",
        "Failed to convert a NumPy array to a Tensor (Unsupported object type float).",
        "",
    ),
    (
        "InvalidArgumentError",
        "cannot compute AddV2 as input #1(zero-based) was expected to be a int32 tensor"
        " but is a float tensor [Op:AddV2] name: ",
        "",
    ),
    ("ValueError", "Unrecognized data type: x=[[1.0]] (of type <class 'list'>)", ""),
    (
        "TypeError",
        "Cannot convert 'a' to EagerTensor of dtype float",
        "",
    ),
    (
        "TypeError",
        "Input 'y' of 'AddV2' Op has type float64 that does not match type float32 of "
        "argument 'x'.",
        "",
    ),
]


@pytest.mark.parametrize(("exception", "message", "headline"), SHAPES)
def test_shapes(exception: str, message: str, headline: str):
    told = raised(exception, message)

    assert (told.verdict.id, told.verdict.detail) == ("shape_mismatch", "shape")
    assert told.headline == headline
    assert told.verdict.fixes


@pytest.mark.parametrize(("exception", "message", "ending"), TYPES)
def test_types(exception: str, message: str, ending: str):
    told = raised(exception, message)

    assert (told.verdict.id, told.verdict.detail) == ("shape_mismatch", "dtype")
    assert told.headline == f"Types do not fit at step 1,234{ending}"


@pytest.mark.parametrize(
    ("exception", "message"),
    [
        ("ValueError", "You must call `compile()` before using the model."),
        ("ValueError", "The shape of things to come"),
        ("ValueError", "learning rate must be positive"),
        ("TypeError", "train() got an unexpected keyword argument 'shape'"),
        ("AttributeError", "'NoneType' object has no attribute 'shape'"),
        ("NameError", "name 'dtype' is not defined"),
        ("KeyError", "'Incompatible shapes'"),
        ("RuntimeError", "the API answered: 422 invalid input"),
    ],
)
def test_what_only_sounds_like_it(exception: str, message: str):
    assert raised(exception, message).verdict.id == "code_error"


def test_a_last_batch_that_is_smaller_is_recognised_by_the_batch_size():
    told = raised(
        "InvalidArgumentError",
        in_graph("Incompatible shapes: [28,1] vs. [32,1]"),
        settings={"batch_size": "32"},
    )

    assert "drop_remainder=True" in told.verdict.fixes[0].code


def test_other_rows_are_not_taken_for_a_last_batch():
    told = raised(
        "InvalidArgumentError",
        in_graph("Incompatible shapes: [28,1] vs. [30,1]"),
        settings={"batch_size": "32"},
    )

    assert "drop_remainder" not in (told.verdict.fixes[0].code or "")


@pytest.mark.parametrize(
    ("loss", "code"),
    [
        ("categorical_crossentropy", '"sparse_categorical_crossentropy"'),
        ("sparse_categorical_crossentropy", '"categorical_crossentropy"'),
    ],
)
def test_the_fix_knows_the_loss(loss: str, code: str):
    told = raised(
        "ValueError",
        "Arguments `target` and `output` must have the same rank (ndim). Received: "
        "target.shape=(32,), output.shape=(32, 5)",
        settings={"loss": loss},
    )

    assert code in told.verdict.fixes[0].code


@pytest.mark.parametrize(
    ("targets", "outputs", "code"),
    [
        ("(32, 3)", "(32, 10)", "keras.layers.Dense(3)  # as the last layer"),
        ("(32,)", "(32, 1)", "y = y.reshape(-1, 1)"),
        ("(32, 4, 4)", "(32, 4)", "print(y.shape, model.output_shape)"),
    ],
)
def test_targets_and_the_last_layer_are_brought_together(
    targets: str, outputs: str, code: str
):
    told = raised(
        "ValueError",
        "Arguments `target` and `output` must have the same shape. Received: "
        f"target.shape={targets}, output.shape={outputs}",
        settings={"loss": "mse"},
    )

    assert told.verdict.fixes[0].code == code


def test_rows_without_a_target_can_be_cut():
    told = raised(
        "ValueError",
        "Data cardinality is ambiguous. Make sure all arrays contain the same number "
        "of samples.'x' sizes: 64\n'y' sizes: 50\n",
    )

    assert told.verdict.fixes[0].code == "x, y = x[:50], y[:50]"


def test_the_layer_is_the_place():
    told = raised(*SHAPES[0][:2], file="/home/ana/train.py", line=30)

    assert told.verdict.place == {
        "file": "/home/ana/train.py",
        "line": 30,
        "layer": "dense",
    }


def test_in_a_callback_it_is_the_callback_that_failed():
    told = raised(*SHAPES[0][:2], during="callback", callback="Report")

    assert told.verdict.id == "callback_error"


def test_a_message_that_was_cut_is_read_to_its_end():
    long = "x" * 9_000
    message = in_graph(f"{long}\nIncompatible shapes: [28,1] vs. [32,1]")
    text = f"Traceback (most recent call last):\nInvalidArgumentError: {message}"

    told = raised("InvalidArgumentError", message[:8_192], text=text)

    assert told.verdict.id == "shape_mismatch"


def test_one_hot_targets_for_a_loss_that_takes_numbers_are_told_apart():
    told = raised(
        "ValueError",
        "Argument `output` must have rank (ndim) `target.ndim - 1`. Received: "
        "target.shape=(32, 4), output.shape=(32, 4)",
        settings={"loss": "sparse_categorical_crossentropy"},
    )

    assert told.headline == (
        "Targets (32, 4) have a column per class; sparse_categorical_crossentropy "
        "takes one number"
    )


def test_images_with_channels_first_are_told_to_move_them():
    told = raised(
        "ValueError",
        "Input 0 of layer 'conv2d' is incompatible with the layer: expected axis -1 of "
        "input shape to have value 3, but received input with shape (32, 3, 40, 40)",
    )

    assert told.headline.startswith("conv2d expects 3 in the last axis and got")
    assert told.verdict.fixes[0].code == "x = np.moveaxis(x, 1, -1)"


@pytest.mark.parametrize("shape", ["(32, 40, 40, 1)", "(3, 3)", "(32, 3, 4)"])
def test_other_shapes_are_not_taken_for_channels_first(shape: str):
    told = raised(
        "ValueError",
        "Input 0 of layer 'conv2d' is incompatible with the layer: expected axis -1 of "
        f"input shape to have value 3, but received input with shape {shape}",
    )

    assert all("moveaxis" not in (fix.code or "") for fix in told.verdict.fixes)
