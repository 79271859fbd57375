"""Errors in callbacks and elsewhere, and chains of exceptions."""

from tb_health_plugin.events import facts
from tests.diagnosis.exceptions.raising import raised

EPOCH = facts.EpochEnded(
    wall_time=3.0,
    step=400,
    training=0,
    epoch=0,
    metrics={"loss": 0.5, "accuracy": 0.8},
)


def test_a_callback_is_named():
    told = raised(
        "IndexError",
        "list index out of range",
        during="callback",
        callback="Report",
        file="/home/ana/train.py",
        line=33,
    )

    assert told.state == "failed"
    assert told.headline == "The callback Report raised IndexError at step 1,234"
    assert told.verdict.place == {
        "callback": "Report",
        "file": "/home/ana/train.py",
        "line": 33,
    }


def test_a_metric_that_the_logs_do_not_have():
    told = raised(
        "TypeError",
        "'>' not supported between instances of 'NoneType' and 'float'",
        before=[EPOCH],
        during="callback",
        callback="Target",
        function="on_epoch_end",
    )

    assert told.verdict.id == "callback_error"
    assert told.verdict.fixes[0].why == "They have accuracy and loss."
    assert told.verdict.fixes[0].code == 'logs["accuracy"]'


def test_a_key_that_the_logs_do_not_have():
    told = raised(
        "KeyError",
        "'acc'",
        before=[EPOCH],
        during="callback",
        callback="Target",
        function="on_epoch_end",
    )

    assert told.verdict.fixes[0].why.startswith("There is no 'acc'. ")


def test_a_callback_is_seen_in_the_traceback_too():
    text = (
        'Traceback (most recent call last):\n  File "/venv/lib/python3.11/site-packages'
        '/keras/src/callbacks/callback_list.py", line 9, in on_epoch_end\n    x\n'
        "ValueError: no"
    )

    assert raised("ValueError", "no", text=text).verdict.id == "callback_error"


def test_keras_refuses_a_callback_before_it_runs():
    told = raised(
        "ValueError",
        "EarlyStopping callback received monitor=my_score, but Keras isn't able to "
        "automatically determine whether that metric should be maximized or minimized.",
    )

    assert told.headline == "The callback EarlyStopping raised ValueError at step 1,234"


def test_anything_else_is_an_error_in_the_code():
    told = raised("ZeroDivisionError", "division by zero", file="/a/b.py", line=7)

    assert (told.verdict.id, told.verdict.detail) == ("code_error", "ZeroDivisionError")
    assert told.headline == "Stopped by ZeroDivisionError at step 1,234"
    first, second = told.verdict.fixes
    assert first.title == "Begin at b.py:7"
    assert first.code == "cat -n /a/b.py | sed -n 2,12p"
    assert second.code == "python -m pdb -c continue train.py  # and its arguments"
    assert second.why == "It runs again up to there: 8.0 s last time."


def test_in_a_notebook_the_debugger_needs_no_other_run():
    told = raised(
        "ZeroDivisionError",
        "division by zero",
        file="/tmp/ipykernel_12/34.py",
        line=7,
        program="ipykernel_launcher.py",
    )

    assert [fix.code for fix in told.verdict.fixes] == ["%debug"]


def test_the_cause_of_a_chain_is_what_counts():
    text = (
        "Traceback (most recent call last):\n"
        '  File "/home/ana/train.py", line 5, in step\n    a = np.zeros(shape)\n'
        "numpy._core._exceptions._ArrayMemoryError: Unable to allocate 9.00 GiB for an "
        "array with shape (9,) and data type float64\n\n"
        "The above exception was the direct cause of the following exception:\n\n"
        "Traceback (most recent call last):\n"
        '  File "/home/ana/train.py", line 9, in <module>\n    run()\n'
        "RuntimeError: the epoch failed\n"
    )

    told = raised("RuntimeError", "the epoch failed", text=text)

    assert told.verdict.id == "alloc_failure"


def test_what_was_handled_before_is_not_the_cause():
    text = (
        "Traceback (most recent call last):\n"
        '  File "/home/ana/train.py", line 5, in step\n    open(cache)\n'
        "OSError: [Errno 24] Too many open files\n\n"
        "During handling of the above exception, another exception occurred:\n\n"
        "Traceback (most recent call last):\n"
        '  File "/home/ana/train.py", line 9, in <module>\n    run()\n'
        "ZeroDivisionError: division by zero\n"
    )

    told = raised("ZeroDivisionError", "division by zero", text=text)

    assert told.verdict.id == "code_error"


def test_an_exception_without_any_words():
    assert raised("").verdict.id == "code_error"
