"""The user's own line, wherever it is told."""

import multiprocessing

import pytest

from tb_health_plugin.recording import traces
from tb_health_plugin.recording.traces import Place, without_ours, words_of

LIBRARY = traces._library_roots()[0]

PIPELINE = f"""{{{{function_node __wrapped__IteratorGetNext}}}} OSError: disk gone
Traceback (most recent call last):

  File "{LIBRARY}/tensorflow/script_ops.py", line 269, in __call__
    ret = func(*args)

  File "/home/me/data.py", line 18, in read
    raise IOError("disk gone")

OSError: disk gone

\t [[{{{{node PyFunc}}}}]]"""

IN_A_WORKER = f"""UnknownError: ValueError: bad row
Traceback (most recent call last):
  File "{LIBRARY}/concurrent/futures/process.py", line 246, in _process_worker
  File "/home/me/rows.py", line 7, in parse
ValueError: bad row

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/home/me/train.py", line 40, in batches
ValueError: bad row"""

HANDLED = """Traceback (most recent call last):
  File "/home/me/cache.py", line 3, in look
KeyError: 1

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/home/me/train.py", line 40, in batches
ValueError: bad row"""

IN_USER_CODE = """in user code:

    File "/home/me/model.py", line 12, in train_step  *
        loss = self.compute()
    File "/home/me/model.py", line 20, in compute  *
        raise ValueError("no")

    ValueError: no
"""

DEFINED_AT = """Graph execution error:

Detected at node MatMul defined at (most recent call last):
  File "/home/me/train.py", line 5, in <module>

Matrix size-incompatible"""


def place_of(message: str) -> Place | None:
    return words_of(RuntimeError(message), None).place


@pytest.mark.parametrize(
    ("message", "place"),
    [
        (PIPELINE, Place("/home/me/data.py", 18, "read")),
        (IN_A_WORKER, Place("/home/me/rows.py", 7, "parse")),
        (HANDLED, Place("/home/me/train.py", 40, "batches")),
        (IN_USER_CODE, Place("/home/me/model.py", 20, "compute")),
        (DEFINED_AT, None),
        ("no traceback at all", None),
    ],
)
def test_a_line_in_the_message(message: str, place: Place | None):
    assert place_of(message) == place


def fail_elsewhere(number: int) -> None:
    raise ValueError(f"bad row {number}")


def test_a_line_in_another_process():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        try:
            pool.map(fail_elsewhere, [3])
        except ValueError as error:
            words = words_of(error, error.__traceback__)

    assert words.message == "bad row 3"
    assert words.place is not None
    assert words.place.function == "fail_elsewhere"


def test_a_line_in_the_traceback():
    try:
        fail_elsewhere(1)
    except ValueError as error:
        words = words_of(error, error.__traceback__)

    assert words.place is not None
    assert (words.place.file, words.place.function) == (__file__, "fail_elsewhere")
    assert (words.exception, words.message) == ("ValueError", "bad row 1")


def test_a_message_without_colours_and_one_that_cannot_be_said():
    class Silent(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert words_of(ValueError("\x1b[1mbold\x1b[0m"), None).message == "bold"
    assert words_of(Silent(), None).message == ""


def test_the_end_of_a_long_text_is_kept():
    words = words_of(ValueError("x" * 1_000_000 + " the end"), None)

    assert len(words.text) == traces.LONGEST_TEXT
    assert words.text.rstrip().endswith("the end")
    assert len(words.message) == traces.LONGEST_MESSAGE


def test_our_frames_are_taken_out(monkeypatch):
    def ours() -> None:
        fail_elsewhere(1)

    code = ours.__code__.replace(co_filename=traces.__file__)
    ours.__code__ = code
    try:
        ours()
    except ValueError as error:
        trace = without_ours(error.__traceback__)

    names = []
    while trace is not None:
        names.append(trace.tb_frame.f_code.co_name)
        trace = trace.tb_next
    assert names == ["test_our_frames_are_taken_out", "fail_elsewhere"]
