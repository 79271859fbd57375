"""Whether a line that is offered to be pasted can be: it parses as what it is."""

import ast
import functools
import re
import shlex

# What a line of a shell begins with, after settings for one command.
COMMANDS = frozenset(
    {
        "cat",
        "compute-sanitizer",
        "dcgmi",
        "df",
        "docker",
        "free",
        "gdb",
        "grep",
        "id",
        "iostat",
        "journalctl",
        "kill",
        "kubectl",
        "ls",
        "lscpu",
        "namei",
        "nohup",
        "nvidia-smi",
        "pgrep",
        "ping",
        "pip",
        "printenv",
        "ps",
        "py-spy",
        "python",
        "rsync",
        "sacct",
        "sed",
        "setsid",
        "ssh",
        "sudo",
        "tb-health",
        "timeout",
        "ulimit",
    }
)
_SETTING = re.compile(r"[A-Z_]+=\S+$")
# What belongs into the specification of a pod, and a command of a notebook.
_OTHER = re.compile(r"resources: \{.*\}$|%\w+")
# Where a part of a program may stand. The first that parses counts.
_AROUND = (
    "{}",
    # Arguments of a call.
    "f({})",
    # The head of a function or of a loop, and a decorator.
    "{}\n    pass",
    "{}\ndef f(): pass",
    # A part of a loop or of a function.
    "def f():\n  while True:\n{indented}",
    "try: pass\n{}",
)


@functools.cache
def problem(code: str) -> str | None:
    """Why nobody could paste it; None if it can be pasted."""
    if not code.strip() or code != code.strip("\n"):
        return "is empty, or begins or ends with an empty line"
    if _OTHER.match(code):
        return None
    if _is_shell(code):
        return _shell_problem(code)
    if any(_parses(around, code) for around in _AROUND):
        return None
    return "does not parse as Python, and is no command that is known"


def _is_shell(code: str) -> bool:
    words = code.split()
    while len(words) > 1 and _SETTING.match(words[0]):
        words = words[1:]
    return words[0] in COMMANDS


def _shell_problem(code: str) -> str | None:
    try:
        shlex.split(code, comments=True)
    except ValueError as error:
        return f"is no line of a shell: {error}"
    return None


def _parses(around: str, code: str) -> bool:
    indented = "\n".join(f"    {line}" for line in code.splitlines())
    text = around.replace("{indented}", indented).replace("{}", code)
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True
