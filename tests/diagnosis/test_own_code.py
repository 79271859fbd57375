"""Lines that lead into the program's own code."""

import pytest

from tb_health_plugin.diagnosis import own_code
from tb_health_plugin.events import facts
from tb_health_plugin.reading.run_history import Attempt


def of(program: str | None) -> Attempt:
    attempt = Attempt("a")
    attempt.add(facts.RunStarted(wall_time=1.0, program=program))
    return attempt


@pytest.mark.parametrize(
    ("program", "code"),
    [
        ("tune.py", "python tune.py"),
        ("my tune.py", "python 'my tune.py'"),
        ("__main__.py", "python train.py"),
        ("interactive", "python train.py"),
        (None, "python train.py"),
    ],
)
def test_how_it_was_started_as_far_as_it_is_known(program: str | None, code: str):
    assert own_code.started(of(program)) == code


def test_variables_are_set_where_it_is_started():
    assert own_code.started(of("tune.py"), A="1", B="x,y") == "A=1 B=x,y python tune.py"
    assert own_code.started(of("ipykernel_launcher.py"), A="1") == (
        '# before TensorFlow is imported\nos.environ["A"] = "1"'
    )


def test_code_around_a_line():
    assert own_code.shown("/a/b.py", 3) == "cat -n /a/b.py | sed -n 1,8p"
    assert own_code.shown("/a b.py", 30) == "cat -n '/a b.py' | sed -n 25,35p"


@pytest.mark.parametrize("file", ["<stdin>", "/tmp/ipykernel_7/9.py"])
def test_code_that_is_in_no_file_cannot_be_shown(file: str):
    assert own_code.shown(file, 3) is None


def test_a_notebook_has_a_debugger_of_its_own():
    assert own_code.debugged(of("ipykernel_launcher.py")) == "%debug"
    assert own_code.debugged(of("tune.py")) == (
        "python -m pdb -c continue tune.py  # and its arguments"
    )
