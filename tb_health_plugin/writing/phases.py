"""What the training loop is doing, as numbers in the black box."""

import enum


class Phase(enum.IntEnum):
    """The phase of a training. The names are for people, too."""

    NOT_TRAINING = 0
    STARTING = 1  # fit was called; tracing, compiling and the first step
    TRAINING = 2
    VALIDATION_STARTING = 3  # the same for the first batch of a validation
    VALIDATION = 4
    BETWEEN_EPOCHS = 5  # callbacks at the end of an epoch, checkpoints among them


# Phases in which a first call may trace and compile for minutes.
MAY_COMPILE = (Phase.STARTING, Phase.VALIDATION_STARTING)
