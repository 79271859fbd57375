"""A GPU that failed, or parts of CUDA that are missing or did not start."""

from tb_health_plugin.diagnosis import gpu_faults
from tb_health_plugin.diagnosis.ending import Ending
from tb_health_plugin.diagnosis.exceptions.failure import failure
from tb_health_plugin.diagnosis.exceptions.raised import TENSORFLOW, Raised
from tb_health_plugin.diagnosis.gpu_words import fault, library_failed, missing_part
from tb_health_plugin.diagnosis.verdict import Confidence, Evidence, Fix

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
            told,
            at=raised.at,
            place=raised.place,
            evidence=raised.evidence(),
            because="CUDA reported it to TensorFlow, which raised it.",
        )
        return Ending("failed", found.chip, found)
    part = missing_part(said)
    if part is not None:
        return _missing(raised, part)
    words = library_failed(said)
    return _library(raised, words) if words else None


def _missing(raised: Raised, part: str) -> Ending:
    headlines = {
        "libdevice": "XLA could not compile: it did not find CUDA's file libdevice",
        "ptxas": "XLA could not compile: it did not find CUDA's compiler ptxas",
        "versions": "Driver, CUDA and TensorFlow do not fit together",
    }
    install = Fix(
        title="Install the parts of CUDA that belong to this TensorFlow",
        why="They come with it if you ask for them.",
        code='pip install "tensorflow[and-cuda]"',
    )
    point = Fix(
        title="Or tell XLA where CUDA is",
        why="It looks for the folder that has nvvm/libdevice and bin/ptxas.",
        code="XLA_FLAGS=--xla_gpu_cuda_data_dir=/usr/local/cuda python train.py",
    )
    driver = Fix(
        title="Install a newer driver, or an older TensorFlow",
        why="The driver must know at least the CUDA that TensorFlow was built with.",
        code="nvidia-smi | head -n 4",
    )
    fixes = (driver, install) if part == "versions" else (install, point)
    return _code_error(raised, f"cuda_{part}", headlines[part], "proven", fixes)


def _library(raised: Raised, words: str) -> Ending:
    grow = Fix(
        title="Leave memory of the GPU for it",
        why="This library makes its own memory when it starts. TensorFlow, or another "
        "process, may hold all there is.",
        code="tf.config.experimental.set_memory_growth("
        'tf.config.list_physical_devices("GPU")[0], True)',
    )
    versions = Fix(
        title="See that cuDNN and CUDA are those of this TensorFlow",
        why="A second copy on the search path, or another version, fails like this.",
        code='pip install "tensorflow[and-cuda]"',
    )
    headline = f"A library of CUDA did not start {raised.where}"
    seen = Evidence(text=f"It said: {words}.", at=raised.at)
    fixes = (grow, versions)
    return _code_error(raised, "cuda_libraries", headline, "likely", fixes, seen)


def _code_error(
    raised: Raised,
    detail: str,
    headline: str,
    confidence: Confidence,
    fixes: tuple[Fix, ...],
    *more: Evidence,
) -> Ending:
    return failure(
        raised,
        id="code_error",
        detail=detail,
        confidence=confidence,
        headline=headline,
        because="The message says which part of CUDA is missing."
        if confidence == "proven"
        else "The message names the library, but not why it did not start.",
        evidence=(*raised.evidence(), *more),
        fixes=fixes,
        chip="CUDA incomplete",
    )
