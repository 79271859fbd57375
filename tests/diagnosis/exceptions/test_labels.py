"""Labels that the model has no class for."""

from tests.diagnosis.exceptions.raising import in_graph, raised

SAID = (
    "Received a label value of {} which is outside the valid range of [0, 10).  Label "
    "values: 3 4 1"
)


def test_one_too_many_is_counted_from_one():
    told = raised("InvalidArgumentError", in_graph(SAID.format(10)))

    assert told.verdict.id == "label_problem"
    assert told.headline == "Label 10 does not exist: classes are 0 to 9"
    assert told.verdict.fixes[0].code == "y = y - 1"


def test_far_too_many_needs_a_wider_layer():
    told = raised("InvalidArgumentError", in_graph(SAID.format(41)))

    assert told.verdict.fixes[0].code == "keras.layers.Dense(42)"


def test_a_negative_label_is_a_code_of_its_own():
    told = raised("InvalidArgumentError", in_graph(SAID.format(-1)))

    assert "np.unique" in told.verdict.fixes[0].code


def test_in_to_categorical():
    text = (
        'Traceback (most recent call last):\n  File "/venv/lib/python3.11/site-packages'
        '/keras/src/utils/numerical_utils.py", line 92, in to_categorical\n    x\n'
        "IndexError: index 10 is out of bounds for axis 1 with size 10"
    )

    told = raised(
        "IndexError", "index 10 is out of bounds for axis 1 with size 10", text=text
    )

    assert told.verdict.id == "label_problem"


def test_another_index_is_not_a_label():
    told = raised("IndexError", "index 10 is out of bounds for axis 1 with size 10")

    assert told.verdict.id == "code_error"


def test_a_token_without_a_row_is_told_with_its_table():
    said = "indices[3,5] = 20000 is not in [0, 20000)"

    told = raised("InvalidArgumentError", in_graph(said, "model/embedding_1/GatherV2"))

    assert told.verdict.detail == "index_out_of_range"
    assert told.headline == (
        "The table of embedding_1 has 20,000 rows; the data asked for row 20,000"
    )
    assert told.verdict.fixes[0].code == "keras.layers.Embedding(20001, dimension)"
