"""The only place that knows the plugin's name, its tags and the format version.

History of the format
    1   the first one
"""

import re

PLUGIN_NAME = "health"
FORMAT_VERSION = 1

# Numbers: a tensor of doubles whose layout is in the metadata or the file's head.
SAMPLES = "health/samples"
RESOURCES = "health/resources"
GRADIENTS = "health/gradients"
DATA_PIPELINE = "health/data_pipeline"

# Facts: one proto each, in a scalar string tensor.
SAMPLES_STARTED = "health/samples_started"
RUN_STARTED = "health/run_started"
TRAINING_STARTED = "health/training_started"
EPOCH_ENDED = "health/epoch_ended"
TRAINING_ENDED = "health/training_ended"
STOP_REQUESTED = "health/stop_requested"
TIME_SPENT = "health/time_spent"
BATCH_SEEN = "health/batch_seen"
INSPECTED = "health/inspected"
FIRST_BAD_NUMBER = "health/first_bad_number"
PROGRAM_SAID = "health/program_said"
SAVED = "health/saved"
INCIDENT = "health/incident"
RUN_ENDED = "health/run_ended"
PROCESS_ENDED = "health/process_ended"
STALLED = "health/stalled"
STALL_ENDED = "health/stall_ended"
CHILD_ENDED = "health/child_ended"
GPU_SHARED = "health/gpu_shared"
GPU_ALLOCATOR = "health/gpu_allocator"
RECORDING_STOPPED = "health/recording_stopped"
RULES_CHOSEN = "health/rules_chosen"

_LONGEST_NAME = 200
_NAME = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_./ -]*")


def named(tag: str, name: str) -> str:
    """The tag for the series `name` of a kind, so that one run can hold several.

    Raises:
        ValueError: The name cannot be part of a tag.
    """
    if not name:
        return tag
    if len(name) > _LONGEST_NAME or not _NAME.fullmatch(name) or name.endswith("/"):
        raise ValueError(
            f"name={name[:_LONGEST_NAME]!r} cannot be part of a tag: expected up to "
            f"{_LONGEST_NAME} letters, digits, spaces and any of _ . / - that begin "
            "with a letter, digit, _ or . and do not end with /"
        )
    return f"{tag}/{name}"


def kind_of(tag: str) -> str:
    """The kind that a tag belongs to: the tag without the name of its series."""
    return "/".join(tag.split("/", 2)[:2])
