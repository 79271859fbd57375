"""NVIDIA's numbers for errors of a GPU (XID): what each means and what to do about it.

As in NVIDIA's Xid catalogue for cards from Ampere on, in our words. What is not here
either means nothing by itself (43 and 45: a program was cleaned up; 63: a repair that
worked; 154: repeats what another number asks for) or does not concern a training.
"""

from dataclasses import dataclass
from typing import Literal

# Start the program again; reset the card; restart the machine; only keep an eye on it.
Action = Literal["restart", "reset", "reboot", "watch"]


@dataclass(frozen=True, slots=True)
class Xid:
    """One number.

    Attributes:
        meaning: What happened, as the end of "GPU 0 failed: ".
        action: What NVIDIA advises to do at once.
        by_program: A mistake of a program is the usual cause.
    """

    meaning: str
    action: Action
    by_program: bool = False


_NVLINK = Xid("an error of the link between GPUs (NVLink)", "reset")
_MEMORY = Xid("an error of its memory that could not be corrected", "reset")

XIDS = {
    8: Xid("it stopped working on a program", "restart"),
    13: Xid("an exception in a kernel, such as an index out of range", "restart", True),
    31: Xid("an access to memory that is not there", "restart", True),
    32: Xid("commands reached it damaged", "restart"),
    46: Xid("it stopped working", "reset"),
    48: _MEMORY,
    62: Xid("its own controller halted", "reset"),
    64: Xid("a broken row of its memory could not be replaced", "reset"),
    69: Xid("a command that it does not know", "restart", True),
    74: _NVLINK,
    79: Xid("it fell off the bus", "reboot"),
    92: Xid("very many errors of its memory, all corrected", "watch"),
    94: Xid("an error of its memory, contained to one program", "restart"),
    95: Xid("an error of its memory that may have reached every program", "reset"),
    109: Xid("it could not change from one program to another", "reset"),
    110: Xid("a security fault", "reset"),
    119: Xid("its system processor did not answer the driver", "reset"),
    120: Xid("an error of its system processor", "reset"),
    136: Xid("a link between GPUs (NVLink) could not be set up", "reset"),
    137: Xid("an access to another GPU that is not allowed", "restart", True),
    140: Xid("an error of its memory that was not contained", "reset"),
    143: Xid("it could not be started", "reset"),
    **dict.fromkeys(range(144, 151), _NVLINK),
    158: Xid("it did not answer in time", "reset"),
    171: _MEMORY,
    172: _MEMORY,
}
