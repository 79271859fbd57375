"""A GPU that failed, or parts of CUDA that are missing or do not work."""

from tb_health_plugin.diagnosis import cuda_parts, gpu_faults
from tb_health_plugin.diagnosis.cuda_words import (
    cudnn_versions,
    fault,
    library_failed,
    missing_part,
)
from tb_health_plugin.diagnosis.ending import Ending
from tb_health_plugin.diagnosis.exceptions.raised import TENSORFLOW, Raised
from tb_health_plugin.diagnosis.verdict import Evidence, Fix
from tb_health_plugin.events import facts

Fixes = tuple[Fix, ...]

# Who speaks for CUDA: TensorFlow's classes, and PyTorch's and JAX's.
SPEAKS_FOR_CUDA = (*TENSORFLOW, "RuntimeError", "OutOfMemoryError", "AcceleratorError")


def failed(raised: Raised) -> Ending | None:
    """What CUDA reported; None if this is something else."""
    if not raised.is_a(*SPEAKS_FOR_CUDA):
        return None
    said = "\n".join(voice.message for voice in raised.voices)
    told = fault(said)
    if told is not None and gpu_faults.meaning(told.kind) is not None:
        found = gpu_faults.verdict(
            raised.attempt,
            told,
            at=raised.at,
            place=raised.place,
            evidence=raised.evidence(),
            because="CUDA reported it to TensorFlow, which raised it.",
        )
        return Ending("failed", found.chip, found)
    part = missing_part(said)
    if part is not None:
        return _part(raised, part)
    words = library_failed(said)
    return _library(raised, words) if words else None


def _part(raised: Raised, part: str, *more: Evidence, fixes: Fixes = ()) -> Ending:
    return cuda_parts.ending(
        raised.attempt,
        part,
        "failed",
        raised.at,
        where=raised.where,
        evidence=(*raised.evidence(), *more),
        place=raised.place,
        fixes=fixes,
    )


def _library(raised: Raised, words: str) -> Ending:
    seen = raised.attempt.last(facts.ProcessEnded)
    versions = cudnn_versions((seen.output_tail if seen else None) or "")
    if versions is None:
        said = Evidence(text=f"It said: {words}.", at=raised.at)
        return _part(raised, "libraries", said)
    loaded, needed = versions
    logged = Evidence(
        text=f"cuDNN {loaded} was loaded; TensorFlow was built with {needed}.",
        at=raised.at,
    )
    return _part(
        raised, "versions", logged, fixes=(cuda_parts.cudnn_fix(loaded, needed),)
    )
