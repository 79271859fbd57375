"""Lines that lead into the program's own code: to a place, to words, to a value."""

import shlex

from tb_health_plugin.reading.run_history import Attempt

# So many lines before and after a place show what it is about.
_AROUND = 5
# What the record calls a program whose code is typed in, not kept in a file.
_NOTEBOOKS = ("ipykernel_launcher.py", "colab_kernel_launcher.py", "ipython")
# Code that is in no file: of a notebook, or made while the program ran.
_NO_FILE = ("<", "/tmp/ipykernel_", "/tmp/ipython-input")
_UNKNOWN = "train.py"
# They are not recorded: somebody's secret may be among them.
_ARGUMENTS = "  # and its arguments"


def is_notebook(attempt: Attempt) -> bool:
    """Somebody types its code in, cell by cell."""
    return _program(attempt) in _NOTEBOOKS


def script(attempt: Attempt) -> str:
    """The file that was started, as far as it is known; its arguments are not."""
    name = _program(attempt)
    known = name.endswith(".py") and name != "__main__.py" and name not in _NOTEBOOKS
    return shlex.quote(name) if known else _UNKNOWN


def started(attempt: Attempt, **environment: str) -> str:
    """As in "python train.py", maybe with variables of the environment before it."""
    if environment and is_notebook(attempt):
        set_ = [f'os.environ["{name}"] = "{v}"' for name, v in environment.items()]
        return "\n".join(["# before TensorFlow is imported", *set_])
    words = [f"{name}={value}" for name, value in environment.items()]
    return " ".join([*words, "python", script(attempt)])


def shown(file: str, line: int) -> str | None:
    """Shows the code around a line; None if it is in no file."""
    if line < 1 or file.startswith(_NO_FILE):
        return None
    first = max(1, line - _AROUND)
    return f"cat -n {shlex.quote(file)} | sed -n {first},{line + _AROUND}p"


def debugged(attempt: Attempt) -> str:
    """Stops at the exception, where values can be looked at."""
    if is_notebook(attempt):
        return "%debug"
    return f"python -m pdb -c continue {script(attempt)}{_ARGUMENTS}"


def profiled(attempt: Attempt) -> str:
    """Names the functions that take most of the time."""
    if is_notebook(attempt):
        return "%prun -l 20 model.fit(...)"
    return f"python -m cProfile -s tottime {script(attempt)} | head -n 40{_ARGUMENTS}"


def searched(*words: str) -> str:
    """Finds patterns in the program's files."""
    return f"grep -rnE {shlex.quote('|'.join(words))} --include='*.py' ."


def _program(attempt: Attempt) -> str:
    return (attempt.start.program if attempt.start else None) or ""
