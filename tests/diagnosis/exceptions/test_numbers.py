"""Checks for NaN that struck."""

import pytest

from tests.diagnosis.exceptions.raising import in_graph, raised


@pytest.mark.parametrize(
    "said",
    [
        "log of the loss : Tensor had NaN values",
        "check : Tensor had Inf and NaN values",
        '!!! Detected Infinity or NaN in output 0 of graph op "Log" (# of outputs: 1)',
    ],
)
def test_tensorflows_own(said: str):
    told = raised("InvalidArgumentError", in_graph(said, "model/head/CheckNumerics"))

    assert (told.verdict.id, told.verdict.confidence) == ("nan_op", "proven")


def test_the_operation_is_named():
    said = (
        '!!! Detected Infinity or NaN in output 0 of graph op "Log" (# of outputs: 1)'
    )

    told = raised("InvalidArgumentError", said)

    assert told.headline == "A check found NaN or infinity in Log at step 1,234"
    assert told.verdict.place["op"] == "Log"


@pytest.mark.parametrize(
    "message",
    ["loss is nan at step 1234", "NaN loss encountered", "gradients are not finite"],
)
def test_the_programs_own(message: str):
    told = raised("ValueError", message, during="callback", callback="Guard")

    assert (told.verdict.id, told.verdict.confidence) == ("nan_op", "likely")


@pytest.mark.parametrize(
    ("exception", "message"),
    [
        ("ValueError", "cannot convert float NaN to integer"),
        ("KeyError", "'nan_policy'"),
        ("ValueError", "weights must sum to 1"),
        ("ValueError", "unknown loss 'infonce'"),
    ],
)
def test_what_only_sounds_like_it(exception: str, message: str):
    assert raised(exception, message).verdict.id == "code_error"
