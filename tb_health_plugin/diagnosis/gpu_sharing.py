"""A GPU that computes for somebody else, too, while this training runs on it."""

import numpy as np

from tb_health_plugin.diagnosis.case import Case
from tb_health_plugin.diagnosis.figures import names
from tb_health_plugin.diagnosis.gpu_pace import cost, lengths
from tb_health_plugin.diagnosis.gpus import label, moment, named, strangers
from tb_health_plugin.diagnosis.quantities import duration, factor
from tb_health_plugin.diagnosis.verdict import Evidence, Fix, Moment, Verdict
from tb_health_plugin.reading.table import Array

# Below this it is a desktop, or a look at a picture.
BUSY_WITH_OTHERS = 0.2
# Shorter, or in a smaller part of the run, it is no competition.
LEAST_SECONDS = 30.0
LEAST_SHARE = 0.2
# So much slower steps are worth a warning; else it is only good to know.
SLOWER = 1.3


def shared(case: Case, gpu: int) -> Verdict | None:
    """The verdict on one GPU; None if nobody else kept it busy."""
    others = _filled(case.samples.column(f"gpu{gpu}_others_busy_fraction"))
    seconds = lengths(case)
    busy = others >= BUSY_WITH_OTHERS
    free = others < BUSY_WITH_OTHERS
    known = float(seconds[busy | free].sum())
    held = float(seconds[busy].sum())
    if held < LEAST_SECONDS or held < LEAST_SHARE * known:
        return None
    times = case.samples.column("wall_time")
    at = moment(case, float(times[busy][0]))
    found = strangers(case, gpu)
    who = names([f"{one.name or 'a process'} ({one.pid})" for one in found]) or "others"
    share = float(np.average(others[busy], weights=seconds[busy]))
    taken = (
        f"For {duration(held)}, {who} took {share:.0%} of the time of "
        f"{named(case, gpu)}."
    )
    evidence = [Evidence(text=taken, lane="gpu", at=at)]
    paid = cost(case, busy, free)
    slower = paid is not None and paid.slowdown >= SLOWER
    if paid is not None and slower:
        text = (
            f"Steps took {factor(paid.slowdown)} times as long meanwhile: about "
            f"{paid.lost_steps:,.0f} steps less."
        )
        evidence.append(Evidence(text=text, lane="throughput", at=at))
    return _verdict(case, gpu, share, who, at, evidence, slower=slower)


def _verdict(
    case: Case,
    gpu: int,
    share: float,
    who: str,
    at: Moment,
    evidence: list[Evidence],
    *,
    slower: bool,
) -> Verdict:
    return Verdict(
        id="gpu_throttled",
        detail="another_process",
        severity="warning" if slower else "info",
        confidence="likely",
        headline=f"GPU {gpu} also works for another program, {share:.0%} of its time",
        because="The driver tells how much of its time each process takes.",
        cause_at=at,
        stopped_at=case.stopped_at,
        place={"gpu": gpu},
        evidence=tuple(evidence),
        fixes=(
            Fix(
                title="Move one of the two to another GPU, or to another time",
                why=f"{who} and this training take turns on it.",
                code=f"nvidia-smi pmon -i {label(case, gpu)} -c 5",
            ),
        ),
        chip="GPU shared",
        explains=("slow_step",) if slower else (),
    )


def _filled(values: Array) -> Array:
    """Each number until the next one: it is measured rarely."""
    known = np.flatnonzero(np.isfinite(values))
    if not len(known):
        return values
    last = np.searchsorted(known, np.arange(len(values)), side="right") - 1
    # Before the first one nothing is known, and NaN is neither above nor below.
    return np.where(last >= 0, values[known[np.maximum(last, 0)]], np.nan)
