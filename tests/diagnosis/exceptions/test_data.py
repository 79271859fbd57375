"""Errors of the data pipeline: the inner one, with the user's own line."""

import pytest

from tests.diagnosis.exceptions.raising import in_graph, in_python, raised

REMOTE = '''Graph execution error:

Detected at node PyFunc defined at (most recent call last):
<stack traces unavailable>
KeyError: 'sample 3 has no field'
multiprocessing.pool.RemoteTraceback:
"""
Traceback (most recent call last):
  File "/usr/lib/python3.11/multiprocessing/pool.py", line 125, in worker
    result = (True, func(*args, **kwds))
  File "/home/ana/shards.py", line 70, in __getitem__
    raise KeyError("sample 3 has no field")
KeyError: 'sample 3 has no field'
"""


The above exception was the direct cause of the following exception:


Traceback (most recent call last):

  File "/venv/lib/python3.11/site-packages/tensorflow/python/ops/script_ops.py", line 9, in f
    ret = func(*args)

  File "/usr/lib/python3.11/multiprocessing/pool.py", line 774, in get
    raise self._value

KeyError: 'sample 3 has no field'


\t [[{{node PyFunc}}]]
\t [[IteratorGetNext]] [Op:__inference_multi_step_on_iterator_4070]'''  # noqa: E501 - as TensorFlow writes it


def test_an_exception_of_a_generator_is_told_by_its_own_name_and_line():
    told = raised("UnknownError", in_python("KeyError: 'no field mask in row 40'"))

    assert told.verdict.id == "input_error"
    assert told.headline == (
        "The data pipeline raised KeyError at data.py:44, at step 1,234"
    )
    assert told.verdict.place == {"file": "/home/ana/data.py", "line": 44}
    assert told.verdict.evidence[0].text == (
        "KeyError: 'no field mask in row 40' (/home/ana/data.py, line 44)"
    )
    assert told.verdict.evidence[1].text == "It reached the training as UnknownError."


@pytest.mark.parametrize(
    ("kind", "first"),
    [
        ("PyDataset", "for number in range(len(data)):  # what fit() was given"),
        ("generator", "for number, batch in enumerate(data):  # what fit() was given"),
    ],
)
def test_the_record_can_be_found_without_a_training(kind: str, first: str):
    told = raised(
        "UnknownError",
        in_python("KeyError: 'no field mask in row 40'"),
        settings={"data.kind": kind},
    )

    (fix,) = told.verdict.fixes
    assert fix.code.splitlines()[0] == first


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("truncated record at 49280", "tf.data.TFRecordDataset(file)"),
        ("Invalid JPEG data, size 0", "tf.io.decode_image"),
    ],
)
def test_a_broken_file_can_be_found_or_skipped(said: str, code: str):
    told = raised("DataLossError", in_graph(said))

    assert code in told.verdict.fixes[0].code
    assert "ignore_errors" in told.verdict.fixes[1].code


def test_a_broken_file_that_is_named_can_be_compared():
    said = "cannot identify image file '/data/a&b.png'"

    told = raised("UnknownError", in_python(f"OSError: {said}"))

    # The program's own code raised: a generator would be over by that.
    (fix,) = told.verdict.fixes
    assert fix.code == "ls -l '/data/a&b.png' && sha256sum '/data/a&b.png'"


def test_a_record_that_the_program_itself_cannot_read():
    told = raised("UnknownError", in_python("OSError: truncated record 70"))

    (fix,) = told.verdict.fixes
    assert fix.title == "Mend data.py:44, or the record it choked on"


@pytest.mark.parametrize(
    ("path", "below"),
    [("/data/part-7.npy", False), ("shards/part-7.npy", True), ("p.npy", True)],
)
def test_a_file_that_is_missing_is_named_as_it_was_opened(path: str, below: bool):
    said = f"FileNotFoundError: [Errno 2] No such file or directory: '{path}'"

    told = raised("UnknownError", in_python(said))

    assert told.verdict.place["path"] == path
    assert told.headline == f"A file of the data is missing at step 1,234: {path}"
    (fix,) = told.verdict.fixes
    assert fix.code == f"namei -l {path}"
    assert ("in which the program was started" in fix.why) == below


def test_only_a_tf_data_pipeline_can_skip_what_is_broken():
    told = raised(
        "UnknownError",
        in_python("OSError: image file is truncated"),
        settings={"data.kind": "PyDataset"},
    )

    assert len(told.verdict.fixes) == 1


def test_an_exception_of_a_worker_process():
    told = raised("UnknownError", REMOTE)

    assert told.verdict.id == "input_error"
    assert told.verdict.place == {"file": "/home/ana/shards.py", "line": 70}
    assert "KeyError at shards.py:70" in told.headline


@pytest.mark.parametrize(
    ("exception", "said", "detail"),
    [
        (
            "DataLossError",
            "truncated record at 43210' failed with EOF reached",
            "corrupt",
        ),
        ("DataLossError", "corrupted record at 12", "corrupt"),
        (
            "InvalidArgumentError",
            "Unknown image file format. One of JPEG, PNG, GIF, BMP required.",
            "corrupt",
        ),
        ("NotFoundError", "/data/a.tfrecord; No such file or directory", "missing"),
        (
            "InvalidArgumentError",
            "Field 0 in record 0 is not a valid float: x",
            "raised",
        ),
    ],
)
def test_of_tensorflow_itself(exception: str, said: str, detail: str):
    told = raised(exception, in_graph(said, "IteratorGetNext"))

    assert (told.verdict.id, told.verdict.detail) == ("input_error", detail)


def test_a_short_message_is_in_the_headline():
    said = "Field 0 in record 0 is not a valid float: x"

    told = raised("InvalidArgumentError", in_graph(said, "IteratorGetNext"))

    assert told.headline == f"The data pipeline failed at step 1,234: {said}"


def test_what_struck_while_a_batch_was_fetched():
    told = raised("KeyError", "'mask'", during="data", file="/home/ana/d.py", line=3)

    assert told.verdict.id == "input_error"
    assert "KeyError at d.py:3" in told.headline


def test_a_record_that_is_no_number_is_the_pipelines():
    told = raised(
        "UnknownError",
        in_python("ValueError: could not convert string to float: 'n/a'"),
    )

    assert told.verdict.id == "input_error"


@pytest.mark.parametrize(
    ("exception", "message"),
    [
        ("OutOfRangeError", in_graph("End of sequence", "IteratorGetNext")),
        ("StopIteration", ""),
        ("RuntimeError", "generator raised StopIteration"),
        (
            "ValueError",
            "Unexpected result of `train_function` (Empty Logs). This could "
            "be due to issues in input pipeline that resulted in an empty dataset.",
        ),
    ],
)
def test_an_input_that_ended(exception: str, message: str):
    told = raised(exception, message)

    assert told.verdict.id == "data_exhausted"
    assert told.headline == "The input ended at step 1,234"


def test_an_error_of_a_step_is_none_of_the_data():
    told = raised("InvalidArgumentError", in_graph("Sum is not defined"), during="step")

    assert told.verdict.id == "code_error"


def test_a_callback_that_reads_data_is_a_callback():
    told = raised("StopIteration", "", during="callback", callback="Plot")

    assert told.verdict.id == "callback_error"
