"""Where code of ours runs inside a training, found by reading the source.

A guarded place is a `with guard.protect(...)` or a `guarded(...)`: what fails there
ends there. A hook point is where somebody else's code calls ours.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import tb_health_plugin

ROOT = Path(tb_health_plugin.__file__).parent / "recording"
# Decorates hooks of the callback: each of them is a place of its own.
_DECORATOR = "_safely"
_DECORATED = ("keras_callback.py", "call")
# How one hands over something that will be called later.
_REGISTERS = (
    "atexit.register",
    "events.register",
    "faulthandler.enable",
    "faulthandler.register",
    "gc.callbacks.append",
    "logger.addFilter",
    "logging.setLogRecordFactory",
    "os.register_at_fork",
    "setattr",
    "signal.signal",
    "sys.meta_path.insert",
    "threading.Thread",
    "weakref.finalize",
)
# Whose attributes are somebody else's: to set one may put ours there.
_OTHERS = ("keras", "kind", "loader", "logging", "sys", "tape", "tf", "warnings")
_CALLBACK = "keras.callbacks.Callback"
_AROUND = ("Around", "Unseen")
# The mechanism itself; what it guards is in other files, or in hooks by name.
_MECHANISM = ("guard.py", "loops/quick_guard.py")


@dataclass(frozen=True, order=True)
class Guarded:
    """A place where faults end.

    Attributes:
        file: Below `recording`.
        function: The function it is in, or the hook that it guards.
        first: Its first line.
        last: The last one before what it guards.
    """

    file: str
    function: str
    first: int
    last: int

    def __str__(self) -> str:
        return f"{self.file}:{self.first}:{self.function}"


def guarded_places() -> list[Guarded]:
    """Every place in the source, in a fixed order."""
    found = []
    for file, function in _functions():
        for node in ast.walk(function):
            lines = _guard_lines(node)
            if lines is not None and _innermost(function, node):
                found.append(Guarded(file, function.name, *lines))
        decorators = [ast.unparse(one) for one in function.decorator_list]
        if _DECORATOR in decorators:
            found.append(Guarded(file, function.name, function.lineno, 0))
    return sorted(one for one in found if (one.file, one.function) != _DECORATED)


def hook_points() -> list[str]:
    """Every point at which others call ours, as "file: what"."""
    found = set()
    for path in sorted(ROOT.rglob("*.py")):
        file = str(path.relative_to(ROOT))
        for node in ast.walk(ast.parse(path.read_text())):
            found |= {f"{file}: {what}" for what in _hooks(node)}
    return sorted(found)


def _hooks(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.ClassDef):
        bases = {ast.unparse(base) for base in node.bases}
        if bases & {*_AROUND, _CALLBACK}:
            yield f"class {node.name}"
        if "__iter__" in {getattr(one, "name", "") for one in node.body}:
            yield f"class {node.name}"
    elif isinstance(node, ast.Call):
        name = ast.unparse(node.func)
        if name in _REGISTERS:
            yield name
    elif isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Attribute):
                holder = ast.unparse(target.value)
                if holder.partition(".")[0] in _OTHERS:
                    yield f"{holder}.{target.attr} ="


def _functions() -> Iterator[tuple[str, ast.FunctionDef]]:
    for path in sorted(ROOT.rglob("*.py")):
        file = str(path.relative_to(ROOT))
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and file not in _MECHANISM:
                yield file, node


def _guard_lines(node: ast.AST) -> tuple[int, int] | None:
    if isinstance(node, ast.With):
        calls = [item.context_expr for item in node.items]
        if any(_is_call_of(one, "protect") for one in calls):
            return node.lineno, node.body[0].lineno - 1
    elif _is_call_of(node, "guarded"):
        assert isinstance(node, ast.Call)
        return node.lineno, node.end_lineno or node.lineno
    return None


def _is_call_of(node: ast.AST, name: str) -> bool:
    if not isinstance(node, ast.Call):
        return False
    return getattr(node.func, "attr", getattr(node.func, "id", "")) == name


def _innermost(function: ast.FunctionDef, node: ast.AST) -> bool:
    """False if it is in a function within that function."""
    inner = [one for one in ast.walk(function) if isinstance(one, ast.FunctionDef)]
    return not any(node in ast.walk(one) for one in inner if one is not function)
