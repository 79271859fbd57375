"""What does recording cost a training, at short and at long steps, beside others?

Every measurement is a process of its own that trains for some 15 seconds; variants
take turns. A busy machine shows in the spread; CPU time suffers least from it.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence

from bench import peers
from bench.cost import BARE, OURS, OURS_ALL, WATCHER_ONLY, Cost, Measured
from bench.step_length import width_for
from bench.workloads import FIT_LONG, FIT_SHORT, LOOP, WORKLOADS

EPOCHS, QUICK_EPOCHS = 15, 6
# As many show how long a step takes.
TRIED_EPOCHS = 3
# What the promises are about is measured in every round, all else in each third one:
# it is there for the comparison, and a full table would take hours. OTHERS_EVERY=7
# measures it once.
EVERY_ROUND = (BARE, OURS, "watch")
OTHERS_EVERY = int(os.environ.get("OTHERS_EVERY", "3"))


def ask(rounds: int) -> Iterator[Cost]:
    fits = [BARE, OURS, "Keras TensorBoard callback"]
    if not os.environ.get("QUICK"):
        fits[2:2] = [OURS_ALL, WATCHER_ONLY]
    absent: dict[str, str] = {}
    if os.environ.get("PEERS"):
        absent = {
            name: f"{package} is not installed"
            for name, package in peers.missing().items()
        }
        fits += [p for p in peers.PEERS if p not in fits and p not in absent]
    else:
        absent = {n: "make bench PEERS=1" for n in peers.PEERS if n not in fits}
    asked = {FIT_SHORT: fits, FIT_LONG: fits, LOOP: [BARE, "watch"]}
    if os.environ.get("QUICK"):
        del asked[LOOP]
    only = os.environ.get("WORKLOAD", "")
    for workload, variants in asked.items():
        if only in workload:
            # One by one, so that what was measured is kept if the next is interrupted.
            missing = {} if workload == LOOP else absent
            yield _measure(workload, variants, missing, rounds)


def _measure(
    workload: str, variants: Sequence[str], absent: dict[str, str], rounds: int
) -> Cost:
    cost = Cost(workload, {name: [] for name in variants}, dict(absent))
    width, _ = width_for(
        WORKLOADS[workload].milliseconds,
        WORKLOADS[workload].width,
        lambda width: _once(workload, BARE, width, TRIED_EPOCHS)["wall"],
    )
    epochs = QUICK_EPOCHS if os.environ.get("QUICK") else EPOCHS
    for number in range(rounds):
        # A drift of the machine must not favour a place in the order.
        left = [
            name
            for name in variants
            if name not in cost.failed
            and (name in EVERY_ROUND or number % OTHERS_EVERY == 0)
        ]
        for name in left if number % 2 == 0 else reversed(left):
            try:
                measured = _once(workload, name, width, epochs)
                cost.seen[name].append({"round": number, **measured})
            except subprocess.CalledProcessError as error:
                cost.failed[name] = error.stderr.strip().splitlines()[-1]
    for name in cost.failed:
        cost.seen.pop(name, None)
    return cost


def _once(workload: str, variant: str, width: int, epochs: int) -> Measured:
    asked = [workload, variant, str(epochs), str(width)]
    done = subprocess.run(
        [sys.executable, "-m", "bench.trainer", *asked],
        capture_output=True,
        text=True,
        check=True,
    )
    measured: Measured = json.loads(done.stdout.strip().splitlines()[-1])
    return measured
