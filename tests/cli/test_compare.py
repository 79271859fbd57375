"""`tb-health compare`: what it prints, and its exit status."""

import json
from pathlib import Path

import pytest

from tb_health_plugin.cli.main import HEALTHY, PROBLEM_FOUND, USAGE_ERROR, main
from tb_health_plugin.events import facts

BEGUN = facts.TrainingStarted(
    wall_time=2.0, training=0, planned_epochs=1, settings={"batch_size": "32"}
)
DONE = facts.TrainingEnded(wall_time=400.0, step=300, training=0, epochs_done=1)
KILLED = facts.ProcessEnded(
    wall_time=400.0, step=300, signal=9, seen_by="pidfd", cgroup_oom_kills=0
)


def samples(loss_after: float):
    """A loss that changes at step 150."""
    for step in range(1, 301):
        loss = 1.0 + 0.01 * (step % 7)
        yield float(step), {"step": step, "loss": loss if step < 150 else loss_after}


@pytest.fixture
def two_runs(logs: Path, write_attempt) -> str:
    start = facts.RunStarted(wall_time=1.0, pid=1, program="train.py")
    write_attempt("bad", told=[start, BEGUN, KILLED], samples=list(samples(9.0)))
    write_attempt("good", told=[start, BEGUN, DONE], samples=list(samples(1.0)))
    return str(logs)


def test_a_healthy_run_is_found_and_the_difference_told(
    two_runs: str, capsys, monkeypatch
):
    monkeypatch.setenv("COLUMNS", "80")

    assert main(["compare", two_runs, "bad"]) == PROBLEM_FOUND

    said = capsys.readouterr().out
    assert said.startswith("A  bad · Killed\nB  good · Finished\n")
    assert "The runs are alike until step 1" in said
    assert "What differs, first to last\n  - Loss, from step 1" in said
    assert "Alike\n  - Throughput\n" in said
    assert "Settings that differ" not in said
    assert all(len(line) <= 80 for line in said.splitlines())


def test_runs_that_do_the_same(two_runs: str, capsys):
    assert main(["compare", two_runs, "good", "good"]) == HEALTHY
    assert "The runs are alike: no signal differs." in capsys.readouterr().out


def test_json_is_all_there_is(two_runs: str, capsys):
    options = ["--align", "time", "--json"]

    assert main(["compare", two_runs, "bad", "good", *options]) == PROBLEM_FOUND

    answer = json.loads(capsys.readouterr().out)
    assert (answer["first"], answer["align"]) == ("loss", "time")


def test_nan_is_a_string_in_json(logs: Path, two_runs: str, write_attempt, capsys):
    write_attempt("nan", told=[BEGUN, KILLED], samples=list(samples(float("nan"))))

    main(["compare", two_runs, "nan", "good", "--json"])

    (loss,) = [
        one
        for one in json.loads(capsys.readouterr().out)["signals"]
        if one["id"] == "loss"
    ]
    assert (loss["kind"], loss["a_value"]) == ("not_finite", "NaN")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["none"], "No run called 'none' with health data"),
        (["bad", "none"], "No run called 'none' with health data"),
        (["good"], "There is no healthy run to compare with yet."),
    ],
)
def test_what_cannot_be_compared_is_one_clear_sentence(
    two_runs: str, capsys, arguments: list[str], words: str
):
    assert main(["compare", two_runs, *arguments]) == USAGE_ERROR

    assert words in capsys.readouterr().err


def test_a_directory_that_is_none(two_runs: str, capsys):
    assert main(["compare", f"{two_runs}/none", "bad"]) == USAGE_ERROR
    assert "does not exist" in capsys.readouterr().err
