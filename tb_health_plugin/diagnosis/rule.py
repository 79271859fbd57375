"""What a rule is: one question to a run; found, not seen or not measured."""

from collections.abc import Callable
from dataclasses import dataclass

from tb_health_plugin.diagnosis.case import Case
from tb_health_plugin.diagnosis.option import Option
from tb_health_plugin.diagnosis.verdict import NotMeasured, Verdict

# Found, not measured, or (None) looked for and not seen.
Outcome = Verdict | NotMeasured | None


@dataclass(frozen=True, slots=True)
class Rule:
    """One cause that can be found.

    A file of `diagnosis/rules/` holds one as `RULE`. Its module docstring is the page
    that `tb-health explain` shows: what it means, how we know, what it is mistaken
    for, what to do.

    Attributes:
        id: The word of the vocabulary it can find.
        judge: Looks at a run. It must not raise, whatever is missing.
        options: Its numbers that users may tune.
    """

    id: str
    judge: Callable[[Case], Outcome]
    options: tuple[Option, ...] = ()
