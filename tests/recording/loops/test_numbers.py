"""Numbers out of what loops hand over."""

import math

import numpy as np
import pytest

from tb_health_plugin.recording.loops.numbers import is_on_gpu, norm, to_array, to_float


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_a_norm_is_that_of_numpy(dtype: str):
    array = np.linspace(-1, 2, 24, dtype=dtype).reshape(2, 3, 4)

    assert math.isclose(norm(array), float(np.linalg.norm(array)), rel_tol=1e-3)
    assert math.isclose(norm(array.T), norm(array), rel_tol=1e-3)


def test_large_numbers_are_no_bad_numbers():
    assert math.isfinite(norm(np.full(10, 1e30, "float32")))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_one_bad_number_is_enough(bad: float):
    array = np.ones(1_000, "float32")
    array[500] = bad

    assert not math.isfinite(norm(array))


def test_several_losses_count_as_their_mean():
    assert to_float([1.0, 2.0, 6.0]) == 3.0


def test_of_a_sparse_gradient_the_values_count():
    class Sparse:
        values = np.array([1.0, 2.0])

    assert to_array(Sparse()).tolist() == [1.0, 2.0]


def test_only_what_is_on_a_gpu_is_waited_for():
    class Tensor:
        device = "/job:localhost/replica:0/task:0/device:GPU:0"

    assert is_on_gpu(Tensor())
    assert not is_on_gpu(1.0)
    assert not is_on_gpu(np.float32(1.0))
