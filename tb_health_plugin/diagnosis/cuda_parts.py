"""Parts of CUDA that are missing, do not fit or do not work: verdict and fix."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from tb_health_plugin.diagnosis import own_code
from tb_health_plugin.diagnosis.ending import Ending, ended
from tb_health_plugin.diagnosis.verdict import Evidence, Fix, Moment, State
from tb_health_plugin.events import facts
from tb_health_plugin.reading.run_history import Attempt

_HEADLINES = {
    "libdevice": "XLA could not compile: it did not find CUDA's file libdevice",
    "ptxas": "XLA could not compile: it did not find CUDA's compiler ptxas",
    "versions": "Driver, CUDA and TensorFlow do not fit together",
    "card": "This TensorFlow has no code for this model of GPU",
    "busy": "The GPU was not available {where}",
    "libraries": "A library of CUDA did not work {where}",
}
_BECAUSE = {
    "libraries": "The message names the library, but not why it did not work.",
    "busy": "CUDA says only that it is busy or unavailable.",
    "card": "CUDA had nothing that this GPU can run.",
}
_CHIPS = {"busy": "GPU not available"}
# What the message leaves open: two causes look the same.
_NOT_SURE = frozenset({"libraries", "busy", "card"})

_INSTALL = Fix(
    title="Install the parts of CUDA that belong to this TensorFlow",
    why="They come with it if you ask for them. A second copy on the search path, or "
    "another version, fails like this. The version of TensorFlow stays as it is.",
)
_POINT = Fix(
    title="Or tell XLA where CUDA is",
    why="It looks for the folder that has nvvm/libdevice and bin/ptxas.",
)
_DRIVER = Fix(
    title="Install a newer driver, or an older TensorFlow",
    why="The driver must know at least the CUDA that TensorFlow was built with.",
    code="nvidia-smi | head -n 4",
)
_NEWER = Fix(
    title="Use a TensorFlow that knows this model of GPU",
    why="A card that is newer than TensorFlow, or one that it no longer supports, has "
    "no kernels in it.",
    code="nvidia-smi --query-gpu=name,compute_cap --format=csv",
)
_WHO = Fix(
    title="See who has the GPU, and whether it is for one process only",
    why="In the mode Exclusive_Process the first program keeps it. If nobody has it, "
    "restart the machine.",
    code="nvidia-smi -q -d COMPUTE,PIDS",
)
_GROW = Fix(
    title="Leave memory of the GPU for it",
    why="This library makes its own memory when it starts. TensorFlow, or another "
    "process, may hold all there is.",
    code="tf.config.experimental.set_memory_growth("
    'tf.config.list_physical_devices("GPU")[0], True)',
)
_FIXES = {
    "libdevice": (_INSTALL, _POINT),
    "ptxas": (_INSTALL, _POINT),
    "versions": (_DRIVER, _INSTALL),
    "card": (_NEWER, _DRIVER),
    "busy": (_WHO,),
    "libraries": (_GROW, _INSTALL),
}


def install(attempt: Attempt) -> str:
    """The line that brings CUDA for the TensorFlow that it ran with."""
    begun = attempt.last(facts.TrainingStarted)
    told = [one.settings.get("tensorflow") for one in (begun, attempt.start) if one]
    version = next((one for one in told if one), None)
    pinned = f"=={version}" if version else ""
    return f'pip install "tensorflow[and-cuda]{pinned}"'


def _fixes(attempt: Attempt, part: str) -> tuple[Fix, ...]:
    """The usual ones, with this run's own version and program."""
    flags = "--xla_gpu_cuda_data_dir=/usr/local/cuda"
    own = {
        _INSTALL: install(attempt),
        _POINT: own_code.started(attempt, XLA_FLAGS=flags),
    }
    return tuple(replace(one, code=own.get(one, one.code)) for one in _FIXES[part])


def ending(
    attempt: Attempt,
    part: str,
    state: State,
    at: Moment,
    *,
    where: str,
    evidence: Sequence[Evidence],
    place: Mapping[str, str | int] = MappingProxyType({}),
    fixes: tuple[Fix, ...] = (),
) -> Ending:
    """How a run ended for want of a part.

    Args:
        attempt: The record.
        part: As `cuda_words.missing_part` calls it, or "libraries".
        state: How the run is counted.
        at: When it was met.
        where: The same in words, as in "at step 3".
        evidence: What was seen.
        place: Which line, layer or callback it was.
        fixes: In place of the usual ones.
    """
    because = "The message says which part of CUDA is missing or does not fit."
    return ended(
        state,
        at,
        id="code_error",
        detail=f"cuda_{part}",
        confidence="likely" if part in _NOT_SURE else "proven",
        headline=_HEADLINES[part].format(where=where),
        because=_BECAUSE.get(part, because),
        place=place,
        evidence=tuple(evidence),
        fixes=fixes or _fixes(attempt, part),
        chip=_CHIPS.get(part, "CUDA incomplete"),
    )


def cudnn_fix(loaded: str, needed: str) -> Fix:
    """For a cuDNN that was loaded and is not the one it had to be."""
    return Fix(
        title=f"Have cuDNN {needed} or later found first, not {loaded}",
        why="TensorFlow was built with it. Another package, or LD_LIBRARY_PATH, "
        "brought the older one.",
        code=f'pip install --upgrade "nvidia-cudnn-cu12>={needed}"',
    )
