"""The words by which a user says on which findings a training shall be stopped."""

from collections.abc import Iterable

# Seen by the training itself, at the step at which the loss is no longer a number.
NAN = "nan"

# Families of verdicts, as far as one of them can be found while a run goes on.
FAMILIES: dict[str, tuple[str, ...]] = {
    "memory": ("memory_leak", "swap_thrash"),
    "limits": ("handle_limit", "cpu_limited"),
    "storage": ("disk_full", "checkpoint_failure", "disk_slow"),
    "speed": ("input_bound", "slow_callback", "retracing", "slow_step"),
    "gpu": ("gpu_idle", "gpu_throttled", "gpu_fault"),
    "data": (
        "data_exhausted",
        "bad_input_values",
        "label_problem",
        "unscaled_data",
        "unshuffled_data",
        "shape_mismatch",
    ),
    "numbers": (
        "nan_op",
        "lr_too_high",
        "lr_too_low",
        "exploding_gradients",
        "vanishing_gradients",
        "dead_relu",
        "bad_init",
    ),
    "learning": (
        "no_gradient",
        "weights_not_updated",
        "wrong_output_loss",
        "overfitting",
        "over_regularised",
        "not_learning",
    ),
    "distributed": ("straggler",),
}

# A program that hangs asks nobody whether it should stop; only a kill ends it.
_HANGS = (
    "input_hang",
    "callback_hang",
    "compute_hang",
    "endless_epoch",
    "stopped_process",
)


def stop_words(given: Iterable[str]) -> frozenset[str]:
    """Ids of verdicts to stop on, and perhaps `NAN`.

    Raises:
        ValueError: There is no such verdict or family.
    """
    if isinstance(given, str):
        raise ValueError(f'stop_on={given!r} must be a list, as in ["{given}"]')
    found: set[str] = set()
    ids = {id for family in FAMILIES.values() for id in family}
    for word in given:
        if word in FAMILIES:
            found.update(FAMILIES[word])
        elif word == NAN or word in ids:
            found.add(word)
        elif word in _HANGS:
            raise ValueError(
                f"stop_on: a training that hangs cannot stop itself ({word!r}); give "
                "on_finding a command that ends it, as docs/reactions.md shows"
            )
        else:
            known = ", ".join([NAN, *FAMILIES])
            raise ValueError(
                f"stop_on: {word!r} is not known; expected one of {known}, or the id "
                "of a rule that can find something while a run goes on"
            )
    return frozenset(found)
