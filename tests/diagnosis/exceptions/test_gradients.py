"""An optimizer without a single gradient, and errors that only speak of gradients."""

import pytest

from tests.diagnosis.exceptions.raising import raised


@pytest.mark.parametrize(
    "message",
    [
        "No gradients provided for any variable.",
        "No gradients provided for any variable: ['dense/kernel:0'].",
    ],
)
def test_no_variable_has_a_gradient(message: str):
    told = raised("ValueError", message, during="step", file="/a/train.py", line=23)

    verdict = told.verdict
    assert (verdict.id, verdict.detail) == ("no_gradient", "all")
    assert (verdict.severity, verdict.confidence) == ("critical", "proven")
    assert verdict.place == {"file": "/a/train.py", "line": 23}
    assert "argmax" in verdict.fixes[0].why


@pytest.mark.parametrize(
    "message",
    ["gradients must be a list", "No gradient defined for operation 'my_op'"],
)
def test_other_errors_are_errors_of_the_program(message: str):
    assert raised("ValueError", message, during="step").verdict.id == "code_error"
