"""Parameter servers that share the work unevenly: all go at the pace of the busiest."""

import dataclasses

import numpy as np

from tb_health_plugin.diagnosis.case import trainings_of
from tb_health_plugin.diagnosis.first_failure import Member
from tb_health_plugin.diagnosis.moments import stopped_at
from tb_health_plugin.diagnosis.pace import rise, window
from tb_health_plugin.diagnosis.quantities import size
from tb_health_plugin.diagnosis.verdict import Evidence, Fix, Story, Verdict
from tb_health_plugin.reading.table import measured
from tb_health_plugin.reading.workers import worker_of

# A server that uses less than this is not what the others wait for.
LEAST_CORES = 0.4
# Each of the others does less than this part of what it does.
OF_IT = 1 / 3
# Shorter trainings are all beginning.
LEAST_SECONDS = 10.0

_SPREAD = Fix(
    title="Spread large variables over all parameter servers",
    why="A variable that is not divided lies on one server as a whole, and all workers "
    "fetch and change it there.",
    code="partitioner = tf.distribute.experimental.partitioners.MinSizePartitioner(\n"
    "    max_shards=servers)\n"
    "strategy = tf.distribute.ParameterServerStrategy(\n"
    "    resolver, variable_partitioner=partitioner)",
)


def uneven(members: list[Member]) -> tuple[Member, Story] | None:
    """The server that does most of the work, and the story of all; None if even."""
    lead = next((one for one in members if trainings_of(one.attempt)), None)
    servers = [one for one in members if _role(one) == "ps"]
    if lead is None or len(servers) < 2:
        return None
    training = max(trainings_of(lead.attempt), key=lambda one: one.steps)
    begin, end = window(lead.attempt, training)
    if end - begin < LEAST_SECONDS:
        return None
    cores = {
        one.name: rise(one.attempt, "tree_cpu_seconds", begin, end) for one in servers
    }
    known = {name: used for name, used in cores.items() if used is not None}
    if len(known) < len(servers):
        return None
    busiest = max(servers, key=lambda one: known[one.name])
    most = known[busiest.name]
    others = [used for name, used in known.items() if name != busiest.name]
    if most < LEAST_CORES or max(others) > OF_IT * most:
        return None
    verdict = _verdict(busiest, servers, most, max(others))
    found = [one for one in lead.story.findings if one is not lead.story.verdict]
    return busiest, dataclasses.replace(
        lead.story,
        chip=verdict.chip,
        severity=verdict.severity,
        headline=verdict.headline,
        verdict=verdict,
        findings=(verdict, *found),
    )


def _verdict(
    busiest: Member, servers: list[Member], most: float, others: float
) -> Verdict:
    at = stopped_at(busiest.attempt)
    evidence = [
        Evidence(
            text=f"In the training {busiest.name} used {most:.2f} cores, and no other "
            f"server more than {others:.2f}.",
            lane="cpu",
            at=at,
        )
    ]
    memory = {one.name: _memory(one) for one in servers}
    own = memory.pop(busiest.name)
    theirs = [held for held in memory.values() if held]
    if own and theirs:
        text = f"It held {size(own)}; the others held up to {size(max(theirs))}."
        evidence.append(Evidence(text=text, strong=False, lane="host_memory", at=at))
    return Verdict(
        id="straggler",
        detail="server",
        severity="warning",
        confidence="likely",
        headline=f"Parameter server {busiest.name} does most of the work of all "
        f"{len(servers):,}",
        because="Workers fetch and change variables at the server that holds them, so "
        "all go at the pace of the busiest one.",
        cause_at=at,
        stopped_at=at,
        place={"worker": busiest.name},
        evidence=tuple(evidence),
        fixes=(_SPREAD,),
        chip="Uneven servers",
    )


def _role(one: Member) -> str:
    worker = worker_of(one.attempt)
    return worker.role if worker else ""


def _memory(one: Member) -> float | None:
    held = one.attempt.samples.column("process_rss_bytes")
    held = held[measured(held) & np.isfinite(held)]
    return float(held.max()) if len(held) else None
