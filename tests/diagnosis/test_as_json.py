"""The published schema holds for whatever we answer."""

import json
from pathlib import Path

import jsonschema
import pytest

import tb_health_plugin.diagnosis
from tb_health_plugin.diagnosing import NothingRecorded, diagnose
from tb_health_plugin.diagnosis.rules import all_rules
from tb_health_plugin.events import facts

SCHEMA = json.loads(
    Path(tb_health_plugin.diagnosis.__file__)
    .with_name("verdict.schema.json")
    .read_text(encoding="utf-8")
)
START = facts.RunStarted(wall_time=1.0, pid=1)
BEGUN = facts.TrainingStarted(wall_time=2.0, training=0, planned_epochs=1)
DONE = facts.TrainingEnded(wall_time=3.0, step=80, training=0, epochs_done=1)
RAISED = facts.RunEnded(
    wall_time=3.0,
    step=5,
    reason="exception",
    exception="ValueError",
    message="no",
    file="train.py",
    line=3,
    training_under_way=True,
)


@pytest.mark.parametrize(
    ("told", "state", "id"),
    [
        ([START, BEGUN, DONE], "finished", "healthy"),
        ([START, BEGUN, RAISED], "failed", "code_error"),
        ([START, BEGUN], "died", "unknown"),
        ([START], "died", "unknown"),
    ],
)
def test_every_answer_fits_the_schema(logs, write_attempt, told, state, id):
    write_attempt("run", told=told)

    answer = diagnose(logs)

    jsonschema.validate(json.loads(json.dumps(answer)), SCHEMA)
    assert (answer["run"], answer["state"]) == ("run", state)
    assert answer["verdict"]["id"] == id


def test_a_run_of_a_few_steps_is_too_short_to_judge(logs, write_attempt):
    done = facts.TrainingEnded(wall_time=3.0, step=8, training=0, epochs_done=1)
    write_attempt("run", told=[START, BEGUN, done])

    assert diagnose(logs)["verdict"]["id"] == "too_short"


def test_a_training_that_failed_and_was_run_again_is_healthy(logs, write_attempt):
    failed = facts.TrainingEnded(
        wall_time=3.0, step=40, training=0, reason="raised", exception="ValueError"
    )
    again = facts.TrainingStarted(wall_time=4.0, training=1, planned_epochs=1)
    done = facts.TrainingEnded(wall_time=5.0, step=80, training=1, epochs_done=1)
    write_attempt("run", told=[START, BEGUN, failed, again, done])

    answer = diagnose(logs)

    assert answer["verdict"]["id"] == "healthy"
    assert answer["headline"] == answer["verdict"]["headline"]


def test_the_run_that_was_last_heard_of_is_meant(logs, write_attempt):
    write_attempt("old", told=[START, BEGUN, DONE])
    write_attempt("new", told=[START, BEGUN, RAISED, facts.Incident(wall_time=9.0)])

    assert diagnose(logs)["run"] == "new"
    assert diagnose(logs, "old")["run"] == "old"
    assert diagnose(logs / "old")["run"] == "."


def test_a_run_that_is_not_there_is_said(logs, write_attempt):
    write_attempt("run", told=[START])

    with pytest.raises(NothingRecorded, match="'other'"):
        diagnose(logs, "other")
    with pytest.raises(NotADirectoryError):
        diagnose(logs / "none")


def test_every_rule_finds_a_word_of_the_vocabulary():
    known = SCHEMA["$defs"]["verdict"]["properties"]["id"]["enum"]

    assert {rule.id for rule in all_rules()} <= set(known)
