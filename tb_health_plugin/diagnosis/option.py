"""A number of a rule that a user may tune."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Option:
    """A threshold with a name. `case.tuned(option)` is what counts for a run.

    Attributes:
        name: As users write it, behind the id of its rule and a dot.
        default: The number itself; why it is that one stands above it in the rule.
        meaning: What it is for, as one sentence for users.
    """

    name: str
    default: float
    meaning: str
