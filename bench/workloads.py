"""The trainings that recording is measured on, by name."""

from dataclasses import dataclass

FIT_SHORT = "fit, steps of about 1 ms"
FIT_LONG = "fit, steps of about 50 ms"
LOOP = "own loop, steps of about 1 ms"


@dataclass(frozen=True, slots=True)
class Workload:
    """A model of two hidden layers.

    Attributes:
        milliseconds: About how long its steps are meant to take.
        width: Of its layers, unless steps are too short with it: see `step_length.py`.
        batch: Examples in a batch.
        steps: Steps in an epoch.
    """

    milliseconds: float
    width: int
    batch: int
    steps: int


WORKLOADS = {
    FIT_SHORT: Workload(1, 32, 16, 1_000),
    FIT_LONG: Workload(50, 1_024, 512, 20),
    LOOP: Workload(1, 32, 16, 1_000),
}
