"""Whatever is missing or broken in a record, its end is told, and in few words."""

import random
import signal

import numpy as np
import pytest

from tb_health_plugin.diagnosis import engine
from tb_health_plugin.diagnosis.story import tell
from tb_health_plugin.events import facts
from tb_health_plugin.reading.liveness import Life
from tb_health_plugin.reading.run_history import Attempt
from tests.diagnosis.exceptions.raising import in_graph, in_python

LIVES = (
    Life(alive=True, because="Process 1 is running."),
    Life(alive=False, because="Process 1 is gone."),
    Life(alive=False, because="", restarted_after_seconds=3.0),
)
WORDS = (
    None,
    "",
    "\n\n",
    "Traceback (most recent call last):",
    'Traceback (most recent call last):\n  File "/a.py", line 3, in f',
    "Graph execution error:\n\nDetected at node",
    "OOM when allocating tensor with shape[] and type float on GPU:0 by allocator x",
    "Unable to allocate 3. XB for an array",
    "Out of memory while trying to allocate ..7 bytes",
    "Received a label value of 7 which is outside the valid range of [0, 0)",
    "[Errno 28] No space left on device",
    "[Errno 24] Too many open files",
    "Incompatible shapes: [] vs. [1]",
    "indices[] = -1 is not in [0, 0)",
    "/job:worker/task:1 heartbeat",
    in_graph("Incompatible shapes: [28,1] vs. [32,1]"),
    in_python("KeyError: 'a'"),
    in_python("OSError: [Errno 24] Too many open files"),
    "x" * 9_000,
    "\x1b[1mred\x1b[0m {} {0} %s \\",
)
CLASSES = (
    None,
    "",
    "ValueError",
    "KeyError",
    "SystemExit",
    "KeyboardInterrupt",
    "OSError",
    "MemoryError",
    "StopIteration",
    "InvalidArgumentError",
    "ResourceExhaustedError",
    "UnavailableError",
    "a.b.C",
)
NUMBERS = (None, 0, 1, -1, 7, 10**12)
PHASES = (None, "training", "validation", "between_epochs", "starting", "later word")
SETTINGS = (
    {},
    {"data.infinite": "True", "validation.infinite": "True"},
    {"batch_size": "?", "gpus": "", "data.kind": "generator", "callbacks": ","},
    {"env.TF_CONFIG": "task worker 0, cluster worker 2", "env.SLURM_JOB_ID": "1"},
    {"env.TF_CONFIG": "task None None, cluster "},
)


def record(seed: int) -> tuple[Attempt, Life]:
    """A record that no program would leave."""
    pick = random.Random(seed)
    attempt = Attempt("a")
    columns = {}
    length = pick.choice((0, 1, 2, 30))
    for name in (
        "wall_time",
        "step",
        "epoch",
        "tree_cpu_seconds",
        "process_fds",
        "process_fd_limit",
        "cgroup_pids_used",
        "cgroup_pids_limit",
        "cgroup_pids_denied",
        "load_1min",
        "machine_cpu_cores",
        "host_memory_used_bytes",
        "host_memory_total_bytes",
    ):
        if name in ("wall_time", "step") or pick.random() < 0.7:
            columns[name] = np.asarray(
                [pick.choice((0.0, 1.0, 5.0, 60.0 + n)) for n in range(length)]
            )
    if length:
        attempt.samples.append(columns)
    started, *others = _facts(pick)
    if pick.random() < 0.9:
        attempt.add(started)
    for made in pick.sample(others, k=pick.randint(1, len(others))):
        attempt.add(made)
    return attempt, pick.choice(LIVES)


def _facts(pick: random.Random) -> list[facts.Fact]:
    def one(kind: type[facts.Fact], **fields) -> facts.Fact:
        kept = {name: value for name, value in fields.items() if pick.random() < 0.7}
        time, step = pick.choice((0.0, 5.0, 99.0)), pick.choice((0, 3, 12, 200))
        return kind(wall_time=time, step=step, **kept)

    def number() -> int | None:
        return pick.choice(NUMBERS)

    def failed() -> dict:
        return {
            "exception": pick.choice(CLASSES),
            "message": pick.choice(WORDS),
            "text": pick.choice(WORDS),
            "file": pick.choice((None, "", "/a/b.py", "/lib/python3.11/x.py")),
            "line": number(),
            "function": pick.choice((None, "on_epoch_end", "f")),
            "during": pick.choice((None, "data", "step", "callback", "validation")),
            "callback": pick.choice((None, "ModelCheckpoint", "Mine")),
            "last_step": number(),
        }

    return [
        one(facts.RunStarted, pid=1, settings=pick.choice(SETTINGS)),
        *(
            one(
                facts.TrainingStarted,
                training=training,
                initial_epoch=number(),
                planned_epochs=number(),
                planned_steps_per_epoch=number(),
                planned_validation_steps=number(),
                first_step=number(),
                loop=pick.choice((None, "fit", "loop")),
                settings=pick.choice(SETTINGS),
            )
            for training in (0, 1)
        ),
        *(
            one(
                facts.EpochEnded,
                training=0,
                epoch=number(),
                first_step=number(),
                last_step=number(),
                planned_steps=number(),
                validation_steps=number(),
                planned_validation_steps=number(),
                metrics={"loss": pick.choice((1.0, float("nan"), float("inf")))},
            )
            for _ in range(3)
        ),
        one(
            facts.StopRequested,
            training=0,
            epoch=number(),
            callback=pick.choice((None, "EarlyStopping", "TerminateOnNaN", "Mine")),
            monitor=pick.choice((None, "loss", "val_accuracy")),
            patience=number(),
            best=pick.choice((None, 1.0, float("nan"))),
            is_keras=pick.choice((None, True, False)),
            settings=pick.choice(({}, {"mode": "max", "baseline": "None"})),
        ),
        *(
            one(
                facts.TrainingEnded,
                training=training,
                epochs_done=number(),
                reason=pick.choice((None, "returned", "raised")),
                **failed(),
            )
            for training in (0, 1)
        ),
        one(
            facts.RunEnded,
            reason=pick.choice((None, "finished", "exception", "interrupted", "exit")),
            **failed(),
        ),
        one(
            facts.ProcessEnded,
            signal=pick.choice((None, *(int(s) for s in signal.Signals), 63)),
            exit_code=number(),
            cgroup_oom_kills=number(),
            silent_seconds=pick.choice((None, 0.0, 20.0, 900.0)),
            phase=pick.choice(PHASES),
            stacks=pick.choice(WORDS),
            output_tail=pick.choice(WORDS),
        ),
        one(
            facts.Stalled,
            since=pick.choice((None, 3.0)),
            waits_for=pick.choice((None, "data", "lock", "callback", "peer")),
            stacks=pick.choice(WORDS),
            phase=pick.choice(PHASES),
        ),
        one(facts.ChildEnded, pid=number(), signal=pick.choice((None, 9, 63))),
        one(facts.Saved, path=pick.choice((None, "a", "/a/b")), ok=True),
        one(facts.ProgramSaid, message=pick.choice(WORDS)),
    ]


@pytest.mark.parametrize("block", range(10))
def test_the_end_of_any_record_is_told(block: int):
    for seed in range(block * 60, block * 60 + 60):
        attempt, life = record(seed)

        told = tell(attempt, life)

        assert told.headline, seed
        assert len(told.headline) <= 130, (seed, told.headline)
        assert len(told.chip.split()) <= 4, (seed, told.chip)
        if told.verdict is not None:
            assert told.verdict.because, seed
            assert told.verdict.evidence, seed


def test_rules_do_not_fail_on_them_either():
    for seed in range(60):
        told = engine.judge(*record(seed))

        failed = [one.what for one in told.not_measured if "the rule" in one.what]
        mine = ("callback_stop", "callback_error", "data_exhausted")
        assert not [one for one in failed if one.endswith(mine)], seed
