"""Which trainings the demo shows, and what must be said of each."""

from dataclasses import dataclass
from pathlib import Path

CAUSES = Path(__file__).parent / "causes"

# The order in which they start: what takes longest comes first.
SHOWN = (
    "input_hang",
    "peer_lost",
    "preempted_and_resumed",
    "host_oom",
    "memory_leak",
    "input_bound",
    "healthy",
    "native_crash",
    "callback_stop",
    "code_error",
    "data_exhausted",
    "lr_too_high",
    "bad_input_values",
    "killed_outside",
)

# A script is named by the verdict it leads to; these have another, or one more.
_OTHER_VERDICTS = {
    "preempted_and_resumed": ("healthy",),
    "events_lost": ("disk_full",),
    # Where no control group can be made, the allocation is refused instead.
    "host_oom": ("host_oom", "alloc_failure"),
}


@dataclass(frozen=True, slots=True)
class Training:
    """One script of `causes/`.

    Attributes:
        name: Name of the script, and of its run.
        verdicts: What may be said of it.
    """

    name: str
    verdicts: tuple[str, ...]

    @property
    def script(self) -> Path:
        return CAUSES / f"{self.name}.py"


def shown() -> list[Training]:
    """What `make demo` trains, in the order to start them."""
    return [_training(name) for name in SHOWN]


def everything() -> list[Training]:
    """Every script of `causes/`."""
    names = {path.stem for path in CAUSES.glob("[a-z]*.py")}
    return [_training(name) for name in (*SHOWN, *sorted(names - {*SHOWN}))]


def _training(name: str) -> Training:
    verdict = "healthy" if name.startswith("healthy") else name
    return Training(name, _OTHER_VERDICTS.get(name, (verdict,)))
