"""No rule fails, whatever is missing in a record or makes no sense in it."""

import math

import numpy as np
import pytest

from tb_health_plugin.diagnosis.rules import all_rules
from tb_health_plugin.diagnosis.verdict import NotMeasured, Verdict
from tb_health_plugin.events import facts
from tb_health_plugin.events.columns import PROGRESS, RESOURCES, gpu_columns
from tests.diagnosis.rules.histories import START, case_of, seconds_of

COLUMNS = [column.name for column in (*PROGRESS, *RESOURCES, *gpu_columns(0))]
NAN = math.nan

BARE = (
    facts.RunStarted(wall_time=START),
    facts.TrainingStarted(wall_time=START),
    facts.EpochEnded(wall_time=START),
    facts.EpochEnded(wall_time=START),
    facts.TimeSpent(wall_time=START),
    facts.TimeSpent(wall_time=START),
    facts.Inspected(wall_time=START),
    facts.BatchSeen(wall_time=START),
    facts.StopRequested(wall_time=START),
    facts.FirstBadNumber(wall_time=START),
    facts.Saved(wall_time=START),
    facts.ProgramSaid(wall_time=START),
    facts.RecordingStopped(wall_time=START),
    facts.TrainingEnded(wall_time=START),
    facts.RunEnded(wall_time=START),
    facts.ProcessEnded(wall_time=START),
)
NANS = (
    facts.RunStarted(wall_time=START),
    facts.TrainingStarted(wall_time=START, training=0, settings={"cpus": "", "x": ""}),
    *[
        facts.EpochEnded(
            wall_time=START - number,
            training=0,
            epoch=number,
            first_step=9,
            last_step=3,
            started_at=NAN,
            metrics={"loss": NAN, "val_loss": math.inf},
            loss_profile=(NAN, math.inf),
            learning_rate=NAN,
        )
        for number in range(8)
    ],
    *[
        facts.TimeSpent(
            wall_time=START - number,
            step=-number,
            training=0,
            since=NAN,
            seconds=NAN,
            steps=-5,
            wait_seconds=NAN,
            step_seconds=-1.0,
            validation_seconds=math.inf,
            callback_seconds={"A": NAN, "": math.inf},
            save_seconds=NAN,
            traces=10**9,
        )
        for number in range(8)
    ],
    *[
        facts.Inspected(
            wall_time=START,
            training=0,
            loss=NAN,
            gradient_norm=math.inf,
            gradient_norms=(NAN, 1.0, 2.0),
            weight_norms=(NAN,),
            output_dead_fractions=(1.0,),
        )
        for _ in range(8)
    ],
    facts.Saved(wall_time=NAN, training=0, seconds=NAN, size_bytes=-1, ok=False),
    facts.ProcessEnded(wall_time=START, signal=9, cgroup_oom_kills=1),
)
SAMPLES = {
    "none": None,
    "one": {name: [1.0] for name in ("wall_time", *COLUMNS)},
    "all nan": {"wall_time": seconds_of(20)}
    | {n: [NAN] * 20 for n in COLUMNS if n != "step"},
    "backwards": {"wall_time": seconds_of(20)[::-1]}
    | {n: np.arange(20.0)[::-1] for n in COLUMNS},
    "one moment": {"wall_time": [START] * 20} | {n: np.arange(20.0) for n in COLUMNS},
    "zeros": {"wall_time": seconds_of(20)} | {n: [0.0] * 20 for n in COLUMNS},
    "huge": {"wall_time": seconds_of(20)} | {n: [1e300] * 20 for n in COLUMNS},
}


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.id)
@pytest.mark.parametrize("told", [(), BARE, NANS], ids=["nothing", "bare", "nan"])
@pytest.mark.parametrize("samples", SAMPLES.values(), ids=SAMPLES.keys())
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_an_odd_record_is_judged_all_the_same(rule, told, samples):
    outcome = rule.judge(case_of(*told, samples=samples))

    assert outcome is None or isinstance(outcome, Verdict | NotMeasured)
