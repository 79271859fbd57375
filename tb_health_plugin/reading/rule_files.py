"""Reads the files in which a log directory says what it wants of the rules."""

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tb_health_plugin.events.rule_choices import BadRules, loaded
from tb_health_plugin.reading.attempt_reader import Problem

# Every rule, silenced by name, takes a tenth of it.
LONGEST_FILE_BYTES = 64 << 10


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the files of one run say.

    Attributes:
        rules: In the form of `events/rule_choices.py`, checked.
        problems: Files that make no sense; they are passed over as a whole.
    """

    rules: dict[str, str]
    problems: tuple[Problem, ...] = ()


def read_wishes(paths: Iterable[Path]) -> Wishes:
    """What the given files say together; later ones count more."""
    rules: dict[str, str] = {}
    problems = []
    for path in paths:
        try:
            rules.update(loaded(_text(path)))
        except (OSError, UnicodeDecodeError, BadRules) as error:
            problems.append(Problem(path, f"is not used: {error}"))
    return Wishes(rules, tuple(problems))


def _text(path: Path) -> str:
    """What is in the file, if it is one: neither a link, nor a pipe, nor endless.

    Raises:
        OSError: It cannot be read.
        BadRules: It is no such file.
    """
    if path.is_symlink():
        raise BadRules("it is a link; put the file itself there")
    # A pipe would make us wait for somebody to write into it.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with open(os.open(path, flags), "rb") as file:  # noqa: PTH123 - a descriptor
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise BadRules("it is no plain file")
        data = file.read(LONGEST_FILE_BYTES + 1)
    if len(data) > LONGEST_FILE_BYTES:
        raise BadRules(f"it is longer than {LONGEST_FILE_BYTES:,} bytes")
    return data.decode()
