"""Reads the files in which a log directory says what it wants of the rules."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tb_health_plugin.events.rule_choices import BadRules, loaded
from tb_health_plugin.reading.attempt_reader import Problem


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
            rules.update(loaded(path.read_text()))
        except (OSError, UnicodeDecodeError, BadRules) as error:
            problems.append(Problem(path, f"is not used: {error}"))
    return Wishes(rules, tuple(problems))
