"""What TensorFlow says of a bad number, read."""

import pytest

pytest.importorskip("tensorflow")

from tb_health_plugin.recording.fitting.bad_operation import named

SAID = """{{function_node __inference_f_284}}

!!! Detected Infinity or NaN in output 0 of graph op "Log" (# of outputs: 1) !!!
  dtype: <dtype: 'float32'>
  Stack trace of op's creation ("->": inferred user code):
    + /home/me/train.py (L13) <module>
 -> |   model.fit(x, y)
    + /home/me/losses.py (L5) my_loss
 -> |   return log(p)
"""


def test_the_innermost_line_of_the_program_is_told():
    assert named(SAID) == "Log at losses.py:5"


def test_without_a_line_of_the_program_the_operation_alone_is_told():
    assert named(SAID.partition("  Stack")[0]) == "Log"


def test_another_error_names_no_operation():
    assert named("Incompatible shapes: [8,1] vs. [4,1]") is None
