"""Runs that are parts of one training, told by their names."""

import pytest

from tb_health_plugin.reading.parts import part_of, wholes


@pytest.mark.parametrize(
    ("names", "joined"),
    [
        ({"a/train", "a/validation"}, {"a/train": "a", "a/validation": "a"}),
        ({"train", "validation"}, {"train": ".", "validation": "."}),
        # As estimators wrote: the training above, its evaluation below.
        ({"a", "a/eval"}, {"a/eval": "a"}),
        ({"a/train", "b/validation"}, {}),
        ({"train", "a/validation"}, {}),
        ({"a/trained", "a/values"}, {}),
        ({"a", "b"}, {}),
    ],
)
def test_only_what_has_a_part_beside_it_is_one(names: set[str], joined):
    assert wholes(names) == joined


def test_a_part_has_a_name_of_its_own():
    assert part_of("a/train", "a") == "train"
    assert part_of("train", ".") == "train"
    assert part_of("a", "a") == "."
