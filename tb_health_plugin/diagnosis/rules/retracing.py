"""TensorFlow builds the graph of a function again and again instead of reusing it.

What it means
  A tf.function is traced once and then runs as a graph. Here it was traced over and
  over: each time Python code runs anew, and the graph is built, optimized and kept.

How we know
  Each trace of the model is counted, those of our own left out. TensorFlow itself
  warns when a function is traced in five calls out of five.

What it is mistaken for
  The few traces that every run has: training, validation, a smaller last batch.
  Several trainings in one process, each with a new model and so a trace of its own.
  Slow steps, or a memory leak, since every graph is kept.

What to do
  Make the function once, outside of the loop. Pass tensors, not Python numbers. Give
  batches one shape, or give the function an input_signature with None in it.
"""

import re
from dataclasses import dataclass

from tb_health_plugin.diagnosis import reported
from tb_health_plugin.diagnosis.case import Case, Training
from tb_health_plugin.diagnosis.option import Option
from tb_health_plugin.diagnosis.quantities import duration
from tb_health_plugin.diagnosis.rule import Rule
from tb_health_plugin.diagnosis.smaller_batches import batch_rows
from tb_health_plugin.diagnosis.time_use import whole
from tb_health_plugin.diagnosis.verdict import (
    Confidence,
    Evidence,
    Fix,
    Moment,
    NotMeasured,
    Verdict,
)
from tb_health_plugin.events import facts

# Training and validation, each with a full and a smaller batch, and each once more
# for a shape that TensorFlow relaxes: six to eight in a healthy run.
FEWEST_TRACES = Option(
    "fewest_traces",
    12,
    "Traces of one model in one training that are no longer usual.",
)
# Shapes that differ by chance have all been seen after a while: what still traces at
# this rate will not stop.
LEAST_PER_STEP = 0.02
# In a long run: it still traces in its last third.
_LAST_PART = 3

_WARNING = r"triggered tf\.function retracing"
# A tensor that a pipeline gives out, as in "float32[32, 8]".
_ELEMENT = re.compile(r"(\w+)\[((?:\d+|None)(?:, (?:\d+|None))*)\]")
_FUNCTION = re.compile(r"calls to <(?:bound method|function) ([\w.<>]+)")
_COUNT = re.compile(r"(\d+) out of the last (\d+) calls")


@dataclass(frozen=True, slots=True)
class _Traced:
    training: Training
    traces: int
    steps: int
    lost_seconds: float | None


def judge(case: Case) -> Verdict | NotMeasured | None:
    """Counts traces; believes TensorFlow's warning where one model is trained."""
    fewest = case.tuned(FEWEST_TRACES)
    found = [traced for t in case.trainings if (traced := _counted(t, fewest))]
    warning = reported.find(case, _WARNING)
    if found:
        worst = max(found, key=lambda one: one.traces)
        return _verdict(case, worst, warning)
    # With a new model for each training the warning says nothing.
    trainings = {training.started.training for training in case.trainings}
    if warning is None or len(trainings) != 1:
        return None
    if any(_is_explained(warning, training) for training in case.trainings):
        return None
    return _verdict(case, None, warning)


def _is_explained(warning: reported.Report, training: Training) -> bool:
    """TensorFlow warned of traces that were counted, and they soon came to an end.

    It warns after five calls with five shapes, also if no other shape ever comes.
    """
    count, use = _COUNT.search(warning.text), whole(training)
    if count is None or use.traces is None or use.steps <= 0:
        return False
    return use.traces >= int(count[1]) and use.traces / use.steps < LEAST_PER_STEP


def _counted(training: Training, fewest: float) -> _Traced | None:
    use = whole(training)
    traces, steps = use.traces or 0, use.steps
    if traces < fewest or steps <= 0 or traces / steps < LEAST_PER_STEP:
        return None
    spent = training.spent
    late = spent[-max(1, len(spent) // _LAST_PART) :]
    if not any(stretch.traces for stretch in late):
        return None
    return _Traced(training, traces, steps, _lost(training))


def _lost(training: Training) -> float | None:
    """Seconds beyond those that steps take in the fastest stretch."""
    paces = [
        (s.step_seconds / s.steps, s.steps, s.step_seconds)
        for s in training.spent
        if s.steps and s.step_seconds
    ]
    if len(paces) < 2:
        return None
    best = min(pace for pace, _, _ in paces)
    return sum(seconds - best * steps for _, steps, seconds in paces)


def _verdict(
    case: Case, traced: _Traced | None, warning: reported.Report | None
) -> Verdict:
    name = _function(warning) or "the model"
    at = _began(traced, warning)
    evidence = []
    if traced is not None:
        text = f"The model was traced {traced.traces:,} times in {traced.steps:,} steps"
        evidence.append(
            Evidence(
                text=f"{text}; a healthy run needs a few.", lane="throughput", at=at
            )
        )
        if traced.lost_seconds:
            text = (
                f"Steps took {duration(traced.lost_seconds)} longer than at the pace "
                "of the fastest stretch."
            )
            evidence.append(Evidence(text=text, strong=False, lane="throughput", at=at))
    if warning is not None:
        quote = warning.quote(_WARNING)
        evidence.append(Evidence(text=f"TensorFlow said: {quote}", at=warning.at))
    confidence: Confidence = "proven" if traced is not None else "likely"
    place: dict[str, str | int] = {"function": name} if warning else {}
    return Verdict(
        id="retracing",
        detail=name if warning else None,
        severity="warning",
        confidence=confidence,
        headline=_headline(traced, warning, name),
        because=(
            "Each trace was counted."
            if traced
            else "TensorFlow itself warned; how much time it cost was not measured."
        ),
        cause_at=at,
        stopped_at=case.stopped_at,
        place=place,
        evidence=tuple(evidence),
        fixes=_fixes(name, batch_rows(case.attempt), _elements(case)),
        chip="Retracing",
        explains=("slow_step", "memory_leak"),
    )


def _headline(
    traced: _Traced | None, warning: reported.Report | None, name: str
) -> str:
    if traced is not None:
        often = f"{traced.traces:,} times in {traced.steps:,} steps"
        return f"TensorFlow traced {name} {often}"
    count = _COUNT.search(warning.text if warning else "")
    often = f"in {count[1]} of {count[2]} calls" if count else "again and again"
    return f"TensorFlow traced {name} anew {often}"


def _function(warning: reported.Report | None) -> str | None:
    match = _FUNCTION.search(warning.text) if warning else None
    return match[1] if match else None


def _began(traced: _Traced | None, warning: reported.Report | None) -> Moment:
    if traced is None:
        return warning.at if warning else Moment()
    first: facts.TimeSpent | None = next(
        (s for s in traced.training.spent if s.traces), None
    )
    started = traced.training.started
    return Moment(
        step=started.step if first is None else first.step - (first.steps or 0),
        wall_time=started.wall_time if first is None else first.since,
    )


def _fixes(name: str, rows: int | None, elements: str) -> tuple[Fix, ...]:
    return (
        Fix(
            title="Give every batch the same shape",
            why="A new shape is a new graph. The last, smaller batch of an epoch is "
            "the commonest. Its rows are left out then, other ones in each epoch if "
            "they are shuffled.",
            code=f"dataset = dataset.batch({rows or 'batch_size'}, "
            "drop_remainder=True)",
        ),
        Fix(
            title="Pass tensors instead of Python numbers, and make functions once",
            why=f"Each Python number, and each @tf.function made inside a loop, is "
            f"traced anew; {name} was.",
            code="number = tf.constant(number)  # before the call",
        ),
        Fix(
            title="Say which shapes may vary",
            why="One graph then serves them all. It is a little slower where shapes "
            "would not have varied.",
            code=_signature(elements),
        ),
    )


def _elements(case: Case) -> str:
    return (case.training.setting("data.elements") or "") if case.training else ""


def _signature(elements: str) -> str:
    """Of the tensors that the data gives, with any number of rows."""
    found = _ELEMENT.findall(elements)
    if not found or len(found) != elements.count("["):
        return "@tf.function(input_signature=[tf.TensorSpec([None, None])])"
    specs = [
        f"tf.TensorSpec([{', '.join(['None', *rest.split(', ')[1:]])}], tf.{dtype})"
        for dtype, rest in found
    ]
    return f"@tf.function(input_signature=[{', '.join(specs)}])"


RULE = Rule(id="retracing", judge=judge, options=(FEWEST_TRACES,))
