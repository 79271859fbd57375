"""What the trainer asks its writer to do, in a form that fits into the black box."""

import json
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Where and how to record one attempt.

    Attributes:
        pid: The process that trains.
        logdir: The run's log directory.
        directory: The attempt's own directory.
        period_seconds: Time between two samples.
        start: What the trainer knows of itself: fields of `facts.RunStarted`.
        terminal: Path of the terminal to say the end to; empty if there is none.
        output: Path of the file that standard error goes to; empty if it is none.
        written_each: Of so many samples one is written; all at the end.
        stacks_signal: The signal that the trainer answers with its Python stacks; 0
            if it answers none. Any other signal may end it.
        temp: Where its temporary files go; empty: not said.
        trains_soon: The program is there to train, and nobody types into it.
    """

    pid: int
    logdir: str
    directory: str
    period_seconds: float
    start: dict[str, Any]
    terminal: str = ""
    output: str = ""
    stacks_signal: int = 0
    written_each: int = 1
    trains_soon: bool = False
    temp: str = ""

    def encode(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @classmethod
    def decode(cls, data: bytes) -> "Terms":
        return cls(**json.loads(data))
