"""Memory grows and grows: something is kept that should be let go.

What it means
  The training holds more memory with every step, epoch or trial, and nothing says
  that this will end. Sooner or later the machine runs out of it; more memory only
  delays that.

How we know
  The process' memory is measured each second. After the first epoch (or the first
  quarter of the run) it rises in every part of the run, by an amount that matters,
  and does not level off. For several trainings in one process, what is left behind
  by each is compared with the size of its model. Python's objects and TensorFlow's
  tensors are counted now and then, and the list that holds most of them is named.

What it is mistaken for
  A start: TensorFlow's allocators grow in the first steps, cache() in the first
  epoch, a shuffle buffer until it is full. All of these level off. A high level that
  stays is no leak at all.

What to do
  Look for what is kept: lists of batches, tensors or logs in callbacks and
  generators, functions and models made again and again. One process per trial gives
  everything back.
"""

import re

from tb_health_plugin.diagnosis import own_code
from tb_health_plugin.diagnosis.case import Case
from tb_health_plugin.diagnosis.memory_growth import (
    LEAST_GROWTH_SHARE,
    Leak,
    find,
    model_bytes,
)
from tb_health_plugin.diagnosis.quantities import duration, size
from tb_health_plugin.diagnosis.rates import last_value
from tb_health_plugin.diagnosis.rule import Rule
from tb_health_plugin.diagnosis.verdict import (
    Evidence,
    Fix,
    NotMeasured,
    Severity,
    Verdict,
)

# More objects of Python by this factor over the run: it is Python that keeps them.
MORE_OBJECTS = 1.3
# So many tensors more are no accident; a trace of a model has some hundred.
MANY_TENSORS = 1_000
# A run of this length that took this little of the memory there is will end long before
# it matters.
LONG_SECONDS = 600.0
LITTLE_SHARE = 0.02
# What grew took this part of a container that is as good as full.
LARGE_PART = 0.25
NEARLY_ALL = 0.9
# The last part of a name, as in "a list of 900 tensors, called Keep.losses".
_CALLED = re.compile(r", called (?:.*\.)?([A-Za-z_]\w*)$")


def judge(case: Case) -> Verdict | NotMeasured | None:
    """Found, if memory grows in every part of a training, or from one to the next."""
    times, _ = case.series("process_rss_bytes")
    if not len(times):
        return NotMeasured(
            what="memory of the training process",
            why="the watcher left no samples of it",
            enable="Let the watcher run beside the training: it is on by default.",
        )
    leak = find(case)
    return _verdict(case, leak) if leak else None


def _verdict(case: Case, leak: Leak) -> Verdict:
    whose = "Memory" if leak.who == "process" else "Memory of the data workers"
    died = case.story.verdict is not None and case.story.verdict.id in (
        "host_oom",
        "alloc_failure",
    )
    place: dict[str, str | int] = {"grows": leak.who}
    return Verdict(
        id="memory_leak",
        detail=f"per {leak.per}",
        severity="critical" if died else _severity(case, leak),
        confidence=leak.confidence,
        headline=f"{whose} grows by {size(leak.each)} with every {leak.per}",
        because=_because(leak),
        cause_at=leak.since,
        stopped_at=case.stopped_at,
        place=place,
        evidence=_evidence(case, leak),
        fixes=_fixes(case, leak),
        chip="Memory leak",
        explains=("host_oom", "alloc_failure", "swap_thrash"),
    )


def _severity(case: Case, leak: Leak) -> Severity:
    limit, _ = _limit_and_use(case)
    highest = _highest_share(case)
    if highest >= NEARLY_ALL and leak.grown >= LARGE_PART * highest * (limit or 0.0):
        return "critical"
    is_slow = limit is not None and leak.grown < LITTLE_SHARE * limit
    return "info" if is_slow and leak.seconds > LONG_SECONDS else "warning"


def _highest_share(case: Case) -> float:
    """The most of the container's memory that was ever in use; 0 without a limit."""
    limit = last_value(case, "cgroup_memory_limit_bytes")
    _, used = case.series("cgroup_memory_used_bytes")
    return float(used.max()) / limit if limit and len(used) else 0.0


def _because(leak: Leak) -> str:
    if leak.per == "training":
        return (
            "What each training needs should be free before the next one; here the "
            "memory that stays rises with each of them."
        )
    if leak.confidence == "possible":
        return (
            "It rose to the end, but for a short time: what fills up once and then "
            "stays would look the same so far."
        )
    return (
        "It rises in every part of the run and never levels off, as caches and "
        "buffers that fill up would."
    )


def _evidence(case: Case, leak: Leak) -> tuple[Evidence, ...]:
    since = "" if not leak.since.step else f" since step {leak.since.step:,}"
    found = [
        Evidence(
            text=f"It grew by {size(leak.grown)}{since}, within "
            f"{duration(leak.seconds)}.",
            lane="host_memory",
            at=leak.since,
        )
    ]
    if leak.per == "training":
        model = model_bytes(case)
        trainings = {training.started.training for training in case.trainings}
        text = (
            f"{len(trainings):,} trainings ran in one process; weights and Adam's "
            f"moments of one model take about {size(model)}."
        )
        found.append(Evidence(text=text, strong=False, at=leak.since))
    found += _tensors(case) or _objects(case)
    left = _left(case, leak)
    if left:
        found.append(Evidence(text=left, strong=False, lane="host_memory"))
    return tuple(found)


def _tensors(case: Case) -> list[Evidence]:
    """Said if there are many more of them: then it is they that Python keeps."""
    every = [(t, s) for t in case.trainings for s in t.spent if s.tensors is not None]
    if len(every) < 2:
        return []
    (training, first), (_, last) = every[0], every[-1]
    more = (last.tensors or 0) - (first.tensors or 0)
    if more < MANY_TENSORS:
        return []
    epochs = (last.epoch or 0) - (first.epoch or 0)
    each = ""
    if epochs > 0 and training is every[-1][0]:
        each = f", about {more // epochs:,} more with every epoch"
    text = f"TensorFlow's tensors grew from {first.tensors:,} to {last.tensors:,}{each}"
    holders = [s.tensors_kept_by for _, s in every if s.tensors_kept_by]
    text += f"; most are in {holders[-1]}." if holders else "."
    return [Evidence(text=text, strong=bool(holders))]


def _keepers(case: Case) -> tuple[str, ...]:
    """What to look for: the list that holds most tensors, else what mostly keeps."""
    named = [
        found[1]
        for training in case.trainings
        for spent in training.spent
        if (found := _CALLED.search(spent.tensors_kept_by or ""))
    ]
    return (rf"\b{named[-1]}\b",) if named else (r"\.append\(", "lru_cache")


def _objects(case: Case) -> list[Evidence]:
    counts = [s.python_objects for t in case.trainings for s in t.spent]
    known = [count for count in counts if count]
    if len(known) < 2:
        return []
    first, last = known[0], known[-1]
    if last >= MORE_OBJECTS * first:
        text = f"Python's objects grew from {first:,} to {last:,}."
    else:
        text = (
            f"Python's objects stayed at about {last:,}: what grows is few large "
            "arrays, or memory of native code."
        )
    return [Evidence(text=text, strong=False)]


def _left(case: Case, leak: Leak) -> str:
    """When the limit would be reached, for a run that goes on."""
    limit, used = _limit_and_use(case)
    pace = leak.grown / leak.seconds if leak.seconds > 0 else 0.0
    if case.is_over or limit is None or used is None or pace <= 0 or used >= limit:
        return ""
    return f"At this pace the limit of {size(limit)} is reached in about " + (
        f"{duration((limit - used) / pace)}."
    )


def _limit_and_use(case: Case) -> tuple[float | None, float | None]:
    """Of the container, if it has a limit; else of the machine."""
    limit = last_value(case, "cgroup_memory_limit_bytes")
    used = last_value(case, "cgroup_memory_used_bytes")
    if limit is not None and used is not None:
        return limit, used
    return (
        last_value(case, "host_memory_total_bytes"),
        last_value(case, "host_memory_used_bytes"),
    )


def _fixes(case: Case, leak: Leak) -> tuple[Fix, ...]:
    if leak.per == "training":
        return (
            Fix(
                title="Run each trial in a process of its own",
                why=f"About {size(leak.each)} stay behind per training, and a process "
                "that ends gives everything back. clear_session() alone often does "
                "not. Each start costs the seconds that TensorFlow needs to load.",
                code="trial = multiprocessing.get_context('spawn').Process(target=go)\n"
                "trial.start(); trial.join()",
            ),
            Fix(
                title="Or build the model once and reset its weights for each trial",
                why="No second model is made, so none can stay.",
                code="start = model.get_weights()\nmodel.set_weights(start)",
            ),
        )
    if leak.who == "children":
        return (
            Fix(
                title="Look at what a data worker keeps from batch to batch",
                why=f"The workers together grow by {size(leak.each)} per {leak.per}; "
                "the training process does not. tracemalloc names the lines, and makes "
                "Python about half as fast.",
                code="import tracemalloc; tracemalloc.start()  # in __init__\n"
                "print(*tracemalloc.take_snapshot().statistics('lineno')[:5])  "
                "# in __getitem__",
            ),
        )
    return (
        Fix(
            title="Look for what is kept and never let go",
            why=f"{size(leak.each)} per {leak.per} stay: lists that batches, tensors "
            "or predictions are appended to, caches without a limit, models or "
            "graphs made again. More memory only delays the end.",
            code=own_code.searched(*_keepers(case)),
        ),
        Fix(
            title="See which lines allocate it",
            why="tracemalloc names the lines of Python that hold most. It makes Python "
            "about half as fast.",
            code="import tracemalloc; tracemalloc.start()\n"
            "print(*tracemalloc.take_snapshot().statistics('lineno')[:5], sep='\\n')",
        ),
    )


RULE = Rule(id="memory_leak", judge=judge, options=(LEAST_GROWTH_SHARE,))
