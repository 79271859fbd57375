"""What a batch looks like, without TensorFlow: arrays are tensors enough."""

import math

import numpy as np
import pytest

from tb_health_plugin.recording.fitting.batch_fields import fields_of

RANDOM = np.random.default_rng(1)


def only(batch, **options):
    (field,) = fields_of(batch, **options)
    return field


def test_roles_follow_the_place_in_the_batch():
    x, y, w = np.zeros((4, 2)), np.zeros(4), np.ones(4)

    names = [(f.name, f.role) for f in fields_of((x, y, w))]

    assert names == [("x", "input"), ("y", "target"), ("sample_weight", "weight")]
    assert [f.role for f in fields_of(x)] == ["input"]
    assert [f.role for f in fields_of((x,))] == ["input"]
    assert [f.role for f in fields_of([x, y])] == ["input", "target"]


def test_nested_tensors_are_named_by_key_or_place():
    a = np.zeros((2, 1))

    fields = fields_of(({"image": a, "more": [a, {"age": a}]}, (a, a), None))

    assert [f.name for f in fields] == [
        "image",
        "more[0]",
        "more[1].age",
        "y[0]",
        "y[1]",
    ]


def test_a_batch_that_only_the_program_knows_is_all_input():
    a = np.zeros((2, 1))

    assert [f.name for f in fields_of((a, a, a, a))] == [f"x[{i}]" for i in range(4)]
    assert {f.role for f in fields_of((a, a, a, a))} == {"input"}


def test_plain_numbers_are_described():
    field = only(np.array([[0.0, 2.0], [4.0, 2.0]], "float32"))

    assert (field.dtype, field.shape) == ("float32", (2, 2))
    assert (field.minimum, field.maximum, field.mean) == (0.0, 4.0, 2.0)
    assert field.std == pytest.approx(math.sqrt(2))
    assert field.zero_fraction == 0.25
    assert field.nonfinite_count == 0
    assert field.bad_row is None
    assert field.whole_numbers is True
    assert (field.features, field.constant_features) == (2, 1)
    assert field.lowest_feature_std == field.highest_feature_std == 2.0


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_the_first_bad_row_is_exact_in_a_batch_far_larger_than_the_sample(dtype, bad):
    x = np.ones((64, 80, 80, 3), dtype)
    x[41, 7, 9, 1] = bad
    x[50, 0, 0, 0] = bad

    field = only(x)

    assert (field.nonfinite_count, field.bad_row) == (2, 41)
    assert (field.minimum, field.maximum) == (1.0, 1.0)


def test_a_look_that_is_not_thorough_sees_whole_bad_rows():
    x = np.ones((4096, 64), "float32")
    x[1000:1200] = np.nan

    field = only(x, thorough=False)

    assert field.nonfinite_count > 0
    assert 1000 <= field.bad_row < 1200


def test_numbers_that_are_all_bad_have_no_mean():
    field = only(np.full((3, 2), np.nan))

    assert (field.nonfinite_count, field.bad_row) == (6, 0)
    assert field.mean is None
    assert field.whole_numbers is None


def test_one_extreme_number_is_seen_although_the_rest_is_sampled():
    x = RANDOM.normal(size=(512, 1000)).astype("float32")
    x[137, 731] = 1e6

    field = only(x)

    assert field.maximum == 1e6
    assert field.mean == pytest.approx(0, abs=0.1)


def test_a_sample_sees_every_colour():
    x = np.zeros((512, 64, 64, 3), "uint8")
    x[..., 2] = 255

    field = only(x)

    assert field.mean == pytest.approx(85, rel=0.05)


def test_a_feature_that_differs_in_one_row_only_is_not_constant():
    x = np.ones((10_000, 20), "float32")
    x[:, 1] = np.arange(10_000)
    x[3_333, 0] = 2

    assert only(x).constant_features == 18


def test_features_with_gaps_are_compared_by_what_they_have():
    x = np.array([[1.0, np.nan], [3.0, 5.0], [5.0, 5.0]])

    field = only(x)

    assert field.constant_features == 0
    assert field.highest_feature_std == pytest.approx(math.sqrt(8 / 3))


def test_one_row_says_nothing_about_features():
    assert only(np.ones((1, 5))).features is None


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64", "bool"])
def test_whole_types_have_no_bad_numbers(dtype):
    field = only(np.array([[0, 1], [1, 1]], dtype))

    assert field.nonfinite_count == 0
    assert (field.minimum, field.maximum) == (0.0, 1.0)


def test_text_has_a_type_and_a_shape_alone():
    field = only(np.array([["a"], ["b"]]))

    assert (field.dtype, field.shape) == ("string", (2, 1))
    assert field.mean is None


def test_an_empty_tensor_has_a_shape_alone():
    assert only(np.zeros((0, 3))).shape == (0, 3)
    assert only(np.zeros((0, 3))).minimum is None


class TestTargets:
    def target(self, y):
        return fields_of((np.zeros((len(y), 1)), y))[1]

    def test_classes_are_counted_the_commonest_first(self):
        field = self.target(np.array([2, 0, 2, 1, 2, 0]))

        assert (field.distinct, field.whole_numbers) == (3, True)
        assert field.values == (2.0, 0.0, 1.0)
        assert field.counts == (3, 2, 1)

    def test_one_hot_classes_are_zeros_and_ones(self):
        field = self.target(np.eye(4, dtype="float32")[[0, 1, 1, 3, 0]])

        assert field.values == (0.0, 1.0)
        assert field.counts == (15, 5)
        assert (field.features, field.constant_features) == (4, 1)

    def test_signs_are_seen_as_such(self):
        field = self.target(np.array([-1.0, 1.0, 1.0]))

        assert field.values == (1.0, -1.0)

    def test_measured_targets_are_never_written_down(self):
        field = self.target(RANDOM.normal(size=(16, 1)))

        assert field.distinct == 16
        assert field.values == field.counts == ()

    def test_many_classes_are_counted_not_listed(self):
        field = self.target(np.arange(40).repeat(3))

        assert field.distinct == 40
        assert field.values == ()

    def test_inputs_are_not_listed(self):
        assert only(np.array([1, 1, 2])).values == ()
