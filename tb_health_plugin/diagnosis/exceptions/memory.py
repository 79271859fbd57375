"""An allocation that was refused: of the GPU, or of the machine."""

from collections.abc import Iterator

from tb_health_plugin.diagnosis import own_code
from tb_health_plugin.diagnosis.ending import Ending
from tb_health_plugin.diagnosis.exceptions.debugging import code_there
from tb_health_plugin.diagnosis.exceptions.failure import failure
from tb_health_plugin.diagnosis.exceptions.gpu import SPEAKS_FOR_CUDA
from tb_health_plugin.diagnosis.exceptions.raised import Raised
from tb_health_plugin.diagnosis.gpu_words import Refusal, refusal
from tb_health_plugin.diagnosis.smaller_batches import halved
from tb_health_plugin.diagnosis.verdict import Confidence, Evidence, Fix
from tb_health_plugin.events import facts
from tb_health_plugin.reading.table import measured

_NUMPY = (
    r"Unable to allocate (?P<number>\d+(?:\.\d*)?) ?(?P<unit>[KMGTPE]?i?B|bytes)"
    r" for an array"
)
# What NumPy says of an array that it could not make.
_ARRAY = (
    r"an array with shape \((?P<shape>\d[\d, ]*)\) and data type "
    r"(?P<type>(?:u?int|float|complex)\d+|bool)\b"
)
_HOST = (
    r"\[Errno 12\]|Cannot allocate memory|std::bad_alloc|DefaultCPUAllocator"
    r"|DefaultCPUAllocator: can't allocate|mmap.{0,20}failed: Cannot allocate"
)
_REFUSED = (
    r"out of memory while trying to allocate|failed to allocate (?:memory|request)"
    r"|OOM when allocating tensor"
)

_GIB = float(1 << 30)
_UNITS = {"K": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}


def refused(raised: Raised) -> Ending | None:
    """An allocation that failed; None if this is something else."""
    said = "\n".join(voice.message for voice in raised.voices)
    told = refusal(said, _logged(raised))
    is_host = raised.is_a("MemoryError", "_ArrayMemoryError") or raised.find(_HOST)
    # What a program says of memory in an exception of its own is no refusal. What was
    # only logged may have been a try that failed, and the training went on.
    on_gpu = refusal(said).on_gpu and raised.is_a(*SPEAKS_FOR_CUDA)
    if not (is_host or on_gpu or _is_refusal(raised)):
        return None
    if told.on_gpu is None:
        on_gpu = not is_host and _has_gpu(raised)
    elif _is_refusal(raised):
        on_gpu = told.on_gpu
    return _gpu(raised, told) if on_gpu else _host(raised, _asked_bytes(raised, told))


def _logged(raised: Raised) -> str:
    seen = raised.attempt.last(facts.ProcessEnded)
    return (seen.output_tail if seen else None) or ""


def _is_refusal(raised: Raised) -> bool:
    return raised.is_a(*_CLASSES) and raised.find(_REFUSED) is not None


_CLASSES = (
    "ResourceExhaustedError",
    "XlaRuntimeError",
    "JaxRuntimeError",
    "InternalError",
)


def _has_gpu(raised: Raised) -> bool:
    return (raised.setting("gpus") or "0") not in ("0", "")


def _asked_bytes(raised: Raised, told: Refusal) -> float | None:
    found = raised.find(_NUMPY)
    if found is None:
        return told.asked_bytes
    return float(found["number"]) * 1024.0 ** _UNITS.get(found["unit"][0].upper(), 0)


def _gpu(raised: Raised, told: Refusal) -> Ending:
    asked, limit, used = told.asked_bytes, told.limit_bytes, told.used_bytes
    # What it had got from the GPU; where that is not told, what it may have.
    pool = told.reserved_bytes or limit
    room = pool - used if pool is not None and used is not None else None
    fragmented = bool(asked and room is not None and room >= asked)
    confidence: Confidence = "proven"
    if raised.find("Dst tensor is not initialized") and limit is None:
        confidence = "likely"
    if fragmented:
        chip, detail = "GPU memory fragmented", "fragmented"
        headline = f"The GPU had room, but not in one piece, {raised.where}"
    else:
        chip, detail = "GPU out of memory", "exhausted"
        headline = f"The GPU ran out of memory {raised.where}"
    fixes = [halved(raised.attempt), _SEE]
    if fragmented:
        fixes.insert(0, _unfragmented(raised))
    return failure(
        raised,
        id="gpu_oom",
        detail=detail,
        confidence=confidence,
        headline=headline,
        because="The GPU's allocator refused, and TensorFlow reported it.",
        evidence=(*raised.evidence(), *_seen(raised, told, fragmented)),
        fixes=tuple(fixes),
        chip=chip,
    )


def _seen(raised: Raised, told: Refusal, fragmented: bool) -> Iterator[Evidence]:
    """What was asked for, and what the allocator had."""
    texts = []
    if told.asked_bytes:
        by = f" by the operation {told.op}" if told.op else ""
        texts.append(f"{_size(told.asked_bytes)} more were asked for at once{by}.")
    if told.limit_bytes is not None and told.used_bytes is not None:
        texts.append(
            f"{_size(told.used_bytes)} of {_size(told.limit_bytes)} of TensorFlow's "
            "pool were in use."
        )
    if told.free_bytes is not None:
        texts.append(f"{_size(told.free_bytes)} were free, as CUDA says.")
    if fragmented and told.largest_bytes:
        texts.append(f"The largest free piece had {_size(told.largest_bytes)}.")
    for text in texts:
        yield Evidence(text=text, lane="gpu_memory", at=raised.at)


def _host(raised: Raised, asked: float | None) -> Ending:
    free = _free_bytes(raised)
    what = f"{_size(asked)} of memory" if asked else "Memory"
    verb = "were" if asked else "was"
    evidence = list(raised.evidence())
    if free is not None:
        text = f"{_size(free)} were free at the last sample."
        evidence.append(
            Evidence(text=text, strong=bool(asked), lane="host_memory", at=raised.at)
        )
    return failure(
        raised,
        id="alloc_failure",
        detail=f"{asked:.0f} bytes" if asked else None,
        headline=f"{what} {verb} asked for and refused {raised.where}",
        because="The allocator refused, and the program was told so.",
        evidence=tuple(evidence),
        # What a callback asks for does not shrink with the batch.
        fixes=(
            _line(raised, asked),
            *(() if raised.in_callback else (halved(raised.attempt),)),
        ),
        chip="Out of memory",
    )


def _line(raised: Raised, asked: float | None) -> Fix:
    where = raised.line_words or "the line in the traceback"
    size = f" {_size(asked)} at once" if asked else " more than there is"
    found = raised.find(_ARRAY)
    if found is None:
        return Fix(
            title=f"Make {where} need less at a time",
            why=f"It asked for{size}. Read or compute it in parts, or in a smaller "
            "type (float32 takes half of float64).",
            code=code_there(raised),
        )
    shape = f"({found['shape'].strip()})"
    if found["type"] == "float64":
        return Fix(
            title=f"Make {where} need half: float32 instead of float64",
            why=f"It asked for{size}, for an array of shape {shape}. Seven digits are "
            "enough for data; a model computes in float32 anyway.",
            code=f'np.zeros({shape}, dtype="float32")',
        )
    return Fix(
        title=f"Let {where} keep its array in a file, or fill it in parts",
        why=f"It asked for{size}, for an array of shape {shape}. In a file it takes a "
        "disk instead, and reading it is slower.",
        code=f'np.memmap("array.bin", dtype="{found["type"]}", mode="w+", '
        f"shape={shape})",
    )


def _unfragmented(raised: Raised) -> Fix:
    return Fix(
        title="Use an allocator that does not fragment",
        why="More was free than was asked for, in pieces. Steps may take a little "
        "longer.",
        code=own_code.started(raised.attempt, TF_GPU_ALLOCATOR="cuda_malloc_async"),
    )


_SEE = Fix(
    title="See who else holds memory of the GPU",
    why="Another process, or a notebook that was left open, takes from the same "
    "memory.",
    code="nvidia-smi",
)


def _free_bytes(raised: Raised) -> float | None:
    samples = raised.attempt.samples
    free = []
    for limit, used in (
        ("cgroup_memory_limit_bytes", "cgroup_memory_used_bytes"),
        ("host_memory_total_bytes", "host_memory_used_bytes"),
    ):
        room = samples.column(limit) - samples.column(used)
        known = room[measured(samples.column(used)) & (room == room)]
        if len(known):
            free.append(max(0.0, float(known[-1])))
    return min(free, default=None)


def _size(value: float | None) -> str:
    value = value or 0.0
    if value < _GIB:
        return f"{value / (1 << 20):,.0f} MiB"
    if value < 1024 * _GIB:
        return f"{value / _GIB:,.1f} GiB"
    return f"{value / (1024 * _GIB):,.0f} TiB"
