"""One worker that holds all others back, and what must not be taken for one."""

from dataclasses import replace

import numpy as np
import pytest

from tb_health_plugin.diagnosis.engine import judge
from tb_health_plugin.diagnosis.pace import paces
from tests.diagnosis.team import ALIVE, BEGAN, finished, spent, story, table, worker

FAST = {"wait": 0.5, "step": 49.0}
SLOW = {"wait": 40.0, "step": 9.0}
END = BEGAN + 59


def found(*workers) -> list[tuple[str, str | None]]:
    team = paces(workers)
    return [
        (attempt.start.settings["worker.rank"], one.detail)
        for attempt in workers
        for one in judge(attempt, ALIVE, team=team).findings
        if one.id == "straggler"
    ]


def throttled(each_second: float) -> dict:
    return {"cgroup_cpu_throttled_periods": np.arange(60) * each_second}


def gpu(clock: float, reasons: int) -> dict:
    """A card at work with that part of its highest clock."""
    return {
        "gpu0_busy_fraction": np.full(60, 0.95),
        "gpu0_throttle_reasons": np.full(60, float(reasons)),
        "gpu0_sm_clock_hertz": np.full(60, clock * 2e9),
        "gpu0_sm_clock_max_hertz": np.full(60, 2e9),
    }


HOT, CAPPED = 0x40, 0x04


class TestFires:
    def test_one_that_waits_for_its_own_data(self):
        assert found(worker(0, spent(**FAST)), worker(1, spent(**SLOW))) == [
            ("1", "data")
        ]

    def test_one_with_a_cpu_quota(self):
        pace = {"wait": 0.1, "step": 49.0}
        free, held = (
            worker(0, spent(**pace), columns=throttled(0.0)),
            worker(1, spent(**pace), columns=throttled(9.0)),
        )

        assert found(free, held) == [("1", "cpu_quota")]
        told = story(free, held, alive=(0, 1)).story.verdict
        assert told.fixes[0].code.startswith("cat /sys/fs/cgroup/cpu.max")

    @pytest.mark.parametrize(
        ("name", "code"),
        [
            ("ModelCheckpoint", 'ModelCheckpoint("last.keras", save_freq="epoch")'),
            ("Report", "if batch % 100: return  # first in Report"),
        ],
    )
    def test_one_that_is_in_its_callbacks(self, name: str, code: str):
        quick = spent(wait=0.1, step=49.0)
        slow = replace(spent(wait=0.1, step=9.0), callback_seconds={name: 40.0})

        told = story(worker(0, quick), worker(1, slow), alive=(0, 1)).story.verdict

        assert told.detail == "callbacks"
        assert code in told.fixes[0].code

    @pytest.mark.parametrize("reason", [HOT, CAPPED])
    def test_one_with_a_gpu_that_is_held_back(self, reason: int):
        pace = {"wait": 0.1, "step": 49.0}
        free = [worker(n, spent(**pace), size=3, columns=gpu(0.95, 0)) for n in (0, 1)]
        held = worker(2, spent(**pace), size=3, columns=gpu(0.45, reason))

        assert found(*free, held) == [("2", "gpu")]
        told = story(*free, held, alive=(0, 1, 2)).story.verdict
        assert told.headline == (
            "Worker 2 holds all 3 back: it has a GPU that is held back by heat or "
            "power 100% of the time"
        )

    def test_one_of_many(self):
        team = [worker(n, spent(**FAST), size=8) for n in range(7)]

        assert found(*team, worker(7, spent(**SLOW), size=8)) == [("7", "data")]

    def test_it_is_the_story_of_the_run(self):
        told = story(
            worker(0, spent(**FAST), finished(END, 100)),
            worker(1, spent(**SLOW), finished(END, 100)),
        )

        verdict = told.story.verdict
        assert (verdict.id, verdict.place["worker"]) == ("straggler", "worker 1")
        assert told.story.headline == (
            "Worker 1 holds all 2 back: it waits for its own data 82% of the time"
        )
        assert table(told) == {"worker 0": "fine", "worker 1": "root"}


class TestStaysSilent:
    def test_if_all_wait_alike(self):
        assert found(worker(0, spent(**SLOW)), worker(1, spent(**SLOW))) == []

    def test_if_the_difference_is_small(self):
        little = {"wait": 12.0, "step": 37.0}

        assert found(worker(0, spent(**FAST)), worker(1, spent(**little))) == []

    def test_if_nobody_waits_for_it(self):
        servers = {"strategy": "ParameterServerStrategyV2"}

        assert (
            found(
                worker(0, spent(**FAST), **servers), worker(1, spent(**SLOW), **servers)
            )
            == []
        )

    def test_in_a_short_training(self):
        brief = {"seconds": 4.0, "steps": 100}

        assert (
            found(
                worker(0, spent(wait=0.1, step=3.8, **brief)),
                worker(1, spent(wait=3.0, step=0.9, **brief)),
            )
            == []
        )

    def test_in_the_first_steps(self):
        assert (
            found(worker(0, spent(**FAST, steps=5)), worker(1, spent(**SLOW, steps=5)))
            == []
        )

    def test_if_half_of_a_large_team_is_slow(self):
        team = [worker(n, spent(**(SLOW if n % 2 else FAST)), size=8) for n in range(8)]

        assert found(*team) == []

    @pytest.mark.parametrize("who", [0, 1])
    def test_if_what_the_others_do_was_not_measured(self, who: int):
        team = [worker(0), worker(1)]
        team[who] = worker(who, spent(**SLOW))

        assert found(*team) == []

    def test_if_all_gpus_touch_their_power_limit(self):
        pace = {"wait": 0.1, "step": 49.0}

        assert (
            found(*(worker(n, spent(**pace), columns=gpu(0.5, CAPPED)) for n in (0, 1)))
            == []
        )

    def test_if_a_reason_costs_no_speed(self):
        pace = {"wait": 0.1, "step": 49.0}
        free = worker(0, spent(**pace), columns=gpu(0.97, 0))

        assert found(free, worker(1, spent(**pace), columns=gpu(0.92, CAPPED))) == []

    def test_if_the_gpus_of_the_others_were_not_measured(self):
        pace = {"wait": 0.1, "step": 49.0}

        assert (
            found(
                worker(0, spent(**pace)),
                worker(1, spent(**pace), columns=gpu(0.4, HOT)),
            )
            == []
        )

    def test_alone(self):
        assert found(worker(0, spent(**SLOW))) == []
