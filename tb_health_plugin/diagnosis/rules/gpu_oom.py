"""A GPU had no memory left for what a step needed.

What it means
  TensorFlow asked a GPU for memory and was refused. Three causes look alike in the
  traceback: the step needs more than there is (exhausted), enough is free but in pieces
  (fragmented), or another process holds what is missing (another_process).

How we know
  The exception says how much was asked for, and the allocator logs what it had. Beside
  it we measured what others held of the GPU, and what tensors really took of the
  memory that TensorFlow had reserved. The batch size that would have fitted is an
  estimate: what does not depend on the batch is taken off, and the rest is scaled.

What it is mistaken for
  Memory of the machine that ran out: then the text names the CPU, or memory "on host".
  A warning of the allocator that says "not a failure": that one is none. A GPU that
  looks full in nvidia-smi: TensorFlow reserves nearly all of it whatever it needs.

What to do
  Smaller batches, mixed precision, or several GPUs. If another process holds the
  memory, end it or take another GPU.
"""

import dataclasses
import re
from dataclasses import dataclass

import numpy as np

from tb_health_plugin.diagnosis.case import Case, Training
from tb_health_plugin.diagnosis.gpu_words import Refusal, refusal
from tb_health_plugin.diagnosis.gpus import named, strangers
from tb_health_plugin.diagnosis.moments import where
from tb_health_plugin.diagnosis.quantities import size
from tb_health_plugin.diagnosis.rates import within
from tb_health_plugin.diagnosis.rule import Rule
from tb_health_plugin.diagnosis.smaller_batches import batched
from tb_health_plugin.diagnosis.verdict import (
    Confidence,
    Evidence,
    Fix,
    NotMeasured,
    Verdict,
)
from tb_health_plugin.events import facts
from tb_health_plugin.reading.table import Array

# Others are looked at every ten seconds: what they held that long before counts.
LOOK_BACK_SECONDS = 60.0
# Not all of a GPU can be had: the driver and CUDA's libraries take some, and what is
# free is never in one piece.
USABLE = 0.95
# Less than this of another process's is a desktop, not a reason.
LEAST_OF_OTHERS = 0.1
# Copies of every weight that an optimizer keeps, beside the gradient.
_SLOTS = {"SGD": 0, "RMSprop": 1, "Adagrad": 1, "Lion": 1, "Adafactor": 1}
_MOST_SLOTS = 2
_WEIGHT_BYTES = 4.0
_NODE = re.compile(r"(?:Detected at node |\{\{node )'?([\w/.:-]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Memory:
    """What was known of the GPU's memory when it refused. None: nobody measured it."""

    total: float | None
    free: float | None
    others: float | None
    used: float | None
    peak: float | None
    limit: float | None


def judge(case: Case) -> Verdict | NotMeasured | None:
    """Adds to how the run ended what was measured of the GPU."""
    end = case.story.verdict
    if end is None or end.id != "gpu_oom":
        return None
    told = refusal(_said(case), _logged(case))
    gpu = told.gpu or 0
    memory = _memory(case, gpu, told)
    detail, confidence = _cause(end, told, memory)
    layer = _layer(case)
    place = {**end.place, "gpu": gpu, **({"layer": layer} if layer else {})}
    evidence = (*end.evidence, *_evidence(case, gpu, memory, layer))
    return dataclasses.replace(
        end,
        detail=detail,
        confidence=confidence,
        headline=_headline(end, detail, layer, case, gpu),
        chip=_CHIPS[detail],
        place=place,
        evidence=evidence,
        fixes=_fixes(case, end, told, memory, detail, gpu),
    )


_CHIPS = {
    "exhausted": "GPU out of memory",
    "fragmented": "GPU memory fragmented",
    "another_process": "GPU memory taken",
}


def _said(case: Case) -> str:
    """What the exceptions of the end said, be it the training's or the program's."""
    ends = (case.attempt.last(facts.TrainingEnded), case.attempt.last(facts.RunEnded))
    return "\n".join(f"{e.message or ''}\n{e.text or ''}" for e in ends if e)


def _logged(case: Case) -> str:
    seen = case.attempt.last(facts.ProcessEnded)
    return (seen.output_tail if seen else None) or ""


def _memory(case: Case, gpu: int, told: Refusal) -> _Memory:
    accounts = [
        one for one in case.attempt.all(facts.GpuAllocator) if one.gpu in (gpu, None)
    ]
    last = accounts[-1] if accounts else None
    others = _lately(case, f"gpu{gpu}_memory_others_bytes")
    total = _lately(case, f"gpu{gpu}_memory_total_bytes")
    limit = told.limit_bytes or (last.limit_bytes if last else None)
    if limit is None and total is not None:
        limit = USABLE * total - (others or 0.0)
    return _Memory(
        total=total,
        free=told.free_bytes or _at_least(case, f"gpu{gpu}_memory_free_bytes"),
        others=others,
        used=told.used_bytes or (last.peak_bytes if last else None),
        peak=last.peak_bytes if last else None,
        limit=limit,
    )


def _lately(case: Case, column: str) -> float | None:
    """The highest value of the last minute."""
    values = _last_minute(case, column)
    return float(np.max(values)) if len(values) else None


def _at_least(case: Case, column: str) -> float | None:
    values = _last_minute(case, column)
    return float(np.min(values)) if len(values) else None


def _last_minute(case: Case, column: str) -> Array:
    end = case.stopped_at.wall_time or 0.0
    return within(case, column, end - LOOK_BACK_SECONDS, np.inf)[1]


def _cause(end: Verdict, told: Refusal, memory: _Memory) -> tuple[str, Confidence]:
    """Which of the three it is, and how sure that is."""
    others, total, asked = memory.others or 0.0, memory.total, told.asked_bytes or 0.0
    if total and others >= max(asked, LEAST_OF_OTHERS * total):
        if memory.used is None:
            return "another_process", "likely"
        if memory.used + asked <= USABLE * total:
            return "another_process", "proven"
    return end.detail or "exhausted", end.confidence


def _headline(
    end: Verdict, detail: str, layer: str | None, case: Case, gpu: int
) -> str:
    if detail != "another_process":
        return f"{end.headline}, in {layer}" if layer else end.headline
    found = strangers(case, gpu)
    who = (found[0].name if found else None) or "another process"
    stopped = where(case.attempt)
    return f"GPU {gpu} ran out of memory {stopped}: {who} holds a part of it"


def _evidence(
    case: Case, gpu: int, memory: _Memory, layer: str | None
) -> list[Evidence]:
    at = case.stopped_at
    found = []

    def saw(text: str, *, strong: bool = True) -> None:
        found.append(Evidence(text=text, strong=strong, lane="gpu_memory", at=at))

    if layer:
        saw(f"It was asked for in the layer {layer}.", strong=False)
    if memory.total is not None and memory.free is not None:
        saw(
            f"Of {named(case, gpu)}, {size(memory.free)} of {size(memory.total)} were "
            "free at the last samples.",
            strong=False,
        )
    for one in strangers(case, gpu)[:3]:
        saw(
            f"{one.name or 'Another process'} (process {one.pid}) held "
            f"{size(one.memory_bytes or 0.0)} when it was first seen."
        )
    if memory.others and memory.others > 0:
        saw(f"Other processes held {size(memory.others)} of it.")
    if memory.peak is not None:
        saw(f"Tensors of this run took {size(memory.peak)} at most.", strong=False)
    return found


def _layer(case: Case) -> str | None:
    """The layer whose operation asked, by the name of its node in the graph."""
    if case.training is None:
        return None
    known = {layer.name for layer in case.training.started.layers}
    for node in _NODE.finditer(_said(case)):
        parts = [part for part in node[1].split("/") if part in known]
        if parts:
            return parts[-1]
    return None


def _fixes(
    case: Case,
    end: Verdict,
    told: Refusal,
    memory: _Memory,
    detail: str,
    gpu: int,
) -> tuple[Fix, ...]:
    fitting = _fitting(case, told, memory)
    rest = [fix for fix in end.fixes if not (fitting and "batch" in fix.title)]
    found = strangers(case, gpu)
    if detail == "another_process" and found:
        first = found[0]
        who = first.name or "the other process"
        ending = Fix(
            title=f"Wait for {who} (process {first.pid}), or use another GPU",
            why=f"It held {size(first.memory_bytes or 0.0)}; without it the step would "
            "have fitted. If it was left behind, end it.",
            code=f"ps -fp {first.pid}",
        )
        return (ending, *([fitting] if fitting else []), *rest)
    if detail == "fragmented":
        return (*rest[:1], *([fitting] if fitting else []), *rest[1:])
    return (*([fitting] if fitting else []), *rest)


def _fitting(case: Case, told: Refusal, memory: _Memory) -> Fix | None:
    """The batch size that would have fitted, by this run's own numbers."""
    training, rows = case.training, _rows(case)
    if training is None or rows is None or rows < 2 or not told.asked_bytes:
        return None
    if memory.used is None or not memory.limit:
        return None
    needed, usable = memory.used + told.asked_bytes, USABLE * memory.limit
    fixed = _fixed(case, training)
    if needed <= usable or needed <= fixed:
        return None
    fits = int(rows * (usable - fixed) / (needed - fixed))
    if fits < 1:
        return Fix(
            title="Use a smaller model, mixed precision, or a larger GPU",
            why=f"The model itself takes {size(fixed)} of the {size(usable)} that can "
            "be used: not even a batch of one row would fit.",
            code='keras.mixed_precision.set_global_policy("mixed_float16")',
        )
    if fits >= 8:
        fits = 1 << (fits.bit_length() - 1)
    return Fix(
        title=f"Use batches of at most {fits:,} rows",
        why=f"With {rows:,} rows at least {size(needed)} were needed, of which "
        f"{size(fixed)} do not depend on the batch; {size(usable)} can be used. An "
        "estimate: the step may have needed still more.",
        code=batched(case.attempt, fits),
    )


def _rows(case: Case) -> int | None:
    training = case.training
    given = training.setting("batch_size") if training else None
    if given and given.isdecimal():
        return int(given)
    for batch in training.batches if training else ():
        for one in batch.fields[:1]:
            if one.shape:
                return int(one.shape[0])
    return None


def _fixed(case: Case, training: Training) -> float:
    """What weights, gradients and the optimizer take, whatever the batch."""
    parameters = float(training.started.trainable_parameters or 0)
    slots = _SLOTS.get(training.setting("optimizer") or "", _MOST_SLOTS)
    counted = parameters * _WEIGHT_BYTES * (2 + slots)
    number = training.started.training
    idle = [
        one.used_bytes
        for one in case.attempt.all(facts.GpuAllocator)
        if one.used_bytes is not None and one.training == number
    ]
    return max(counted, min(idle, default=0.0))


RULE = Rule(id="gpu_oom", judge=judge)
