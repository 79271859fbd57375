"""GPUs without work, and those that only look so."""

import pytest

from tb_health_plugin.diagnosis.engine import judge
from tb_health_plugin.diagnosis.rules.gpu_idle import RULE
from tests import runs
from tests.diagnosis.rules.histories import (
    GONE,
    ask,
    attempt_of,
    run_started,
    seconds_of,
    time_spent,
    training_ended,
    training_started,
)

COUNT = 120
SEEN = {"gpus": "1", "gpus.physical": "1", "batch_size": "32"}
NONE_SEEN = {"gpus": "0", "gpus.physical": "0", "tensorflow": "2.19.0"}


def record(
    *busy: float,
    settings=None,
    waiting: float = 0.1,
    cores: float = 1.5,
    seconds: int = COUNT,
    steps: int = 50,
):
    """A training with GPUs this busy, waiting for data for a part of the time."""
    stretch = {
        "seconds": 5.0,
        "steps": steps,
        "wait_seconds": 5.0 * waiting,
        "step_seconds": 5.0 * (1 - waiting),
    }
    count = seconds // 5
    told = (
        run_started(**{"gpu.0.name": "A100"}),
        training_started(settings=SEEN if settings is None else settings),
        *time_spent([stretch] * count),
        training_ended(seconds, steps * count),
    )
    samples = {
        "wall_time": seconds_of(seconds),
        "step": [steps / 5 * second for second in range(seconds)],
        "tree_cpu_seconds": [cores * second for second in range(seconds)],
        **{
            f"gpu{gpu}_busy_fraction": [share] * seconds
            for gpu, share in enumerate(busy)
        },
    }
    return told, samples


def run(*busy: float, **more):
    told, samples = record(*busy, **more)
    return ask(RULE, *told, samples=samples)


def test_tensorflow_cannot_use_it():
    found = run(0.0, settings=NONE_SEEN)

    assert (found.detail, found.severity) == ("placed_on_cpu", "warning")
    assert found.headline.startswith("This TensorFlow sees no GPU")
    assert found.evidence[0].text == (
        "The driver shows GPU 0 (A100); TensorFlow lists no GPU."
    )
    assert found.fixes[0].code == 'pip install "tensorflow[and-cuda]==2.19.0"'
    assert "GPU 0 (A100) was busy 0% of 2 min." in [e.text for e in found.evidence]


def test_a_build_without_cuda_was_mostly_chosen():
    found = run(0.0, settings={**NONE_SEEN, "gpus.cuda_build": "False"})

    assert (found.detail, found.severity) == ("placed_on_cpu", "info")
    assert found.headline.startswith("This TensorFlow is built without CUDA")


def test_a_recorded_gpu_that_waits_for_data():
    story = judge(runs.attempt("input_bound-gpu"), runs.GONE)

    found = [(one.id, one.detail) for one in story.findings]
    assert found[0][0] == "input_bound"
    assert ("gpu_idle", "input") in found


def test_work_was_placed_on_the_cpu():
    found = run(0.001, cores=1.8)

    assert (found.detail, found.severity) == ("placed_on_cpu", "warning")
    assert "1.8 cores worked instead" in found.evidence[0].text


def test_starved_by_its_input():
    found = run(0.12, waiting=0.7)

    assert (found.detail, found.severity) == ("input", "info")
    assert "12%" in found.headline
    assert "70%" in found.evidence[0].text


def test_the_slow_input_is_the_cause():
    told, samples = record(0.12, waiting=0.7)

    story = judge(attempt_of(*told, samples=samples), GONE)

    assert story.verdict.id == "input_bound"
    (idle,) = [one for one in story.findings if one.id == "gpu_idle"]
    assert idle.caused_by == "input_bound"


def test_small_steps_are_good_to_know():
    found = run(0.1)

    assert (found.detail, found.severity) == ("small_steps", "info")
    assert found.fixes[1].code == "batch_size=128"


def test_one_of_two_does_nothing():
    found = run(0.9, 0.0)

    assert (found.detail, found.severity) == ("some_unused", "info")
    assert found.headline == "1 of 2 GPUs did nothing"
    assert found.fixes[0].code == "CUDA_VISIBLE_DEVICES=0 python train.py"


def test_gpus_that_the_program_hides_are_no_alarm():
    found = run(0.0, settings={"gpus": "0", "gpus.physical": "2"})

    assert (found.detail, found.severity) == ("hidden", "info")


@pytest.mark.parametrize("busy", [0.31, 0.9])
def test_a_gpu_at_work(busy: float):
    assert run(busy) is None


def test_two_gpus_at_work():
    assert run(0.9, 0.8) is None


def test_a_strategy_knows_which_it_uses():
    assert run(0.9, 0.0, settings={**SEEN, "strategy": "MirroredStrategy"}) is None


def test_somebody_else_works_on_it_while_tensorflow_sees_none():
    assert run(0.9, settings=NONE_SEEN) is None


def test_nobody_said_whether_tensorflow_could():
    assert run(0.0, settings={"gpus": "0"}) is None


def test_nothing_worked_at_all():
    assert run(0.0, cores=0.1) is None


@pytest.mark.parametrize("more", [{"seconds": 30}, {"steps": 0}])
def test_a_short_look(more):
    assert run(0.0, settings=NONE_SEEN, **more) is None


def test_no_gpu():
    assert run(settings=NONE_SEEN) is None
