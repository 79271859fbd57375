"""The scripts of the demo: named by their verdict, and each says how to run it."""

import ast
import json
from pathlib import Path

import pytest

import tb_health_plugin
from demo import trainings
from demo.recording import Recorded

SCHEMA = Path(tb_health_plugin.__file__).parent / "diagnosis/verdict.schema.json"
ALL = trainings.everything()


def names(found: list[trainings.Training]) -> list[str]:
    return [training.name for training in found]


@pytest.mark.parametrize("training", ALL, ids=names(ALL))
def test_a_script_is_named_by_a_verdict_and_says_how_to_run_it(training):
    words = json.loads(SCHEMA.read_text())["$defs"]["verdict"]["properties"]["id"]
    doc = ast.get_docstring(ast.parse(training.script.read_text())) or ""

    assert set(training.verdicts) <= set(words["enum"])
    assert f"python demo/causes/{training.name}.py logs/" in doc


def test_what_is_shown_is_there_and_comes_first():
    assert names(ALL)[: len(trainings.SHOWN)] == names(trainings.shown())
    assert all(training.script.exists() for training in trainings.shown())


def test_a_warning_in_a_healthy_run_is_wrong():
    healthy = trainings.Training("healthy", ("healthy",))
    quiet = {"verdict": {"id": "healthy"}, "findings": [{"severity": "info"}]}
    loud = {"verdict": {"id": "healthy"}, "findings": [{"severity": "warning"}]}

    assert Recorded(healthy, quiet, None).right
    assert not Recorded(healthy, loud, None).right


def test_another_verdict_is_wrong():
    leak = trainings.Training("memory_leak", ("memory_leak",))
    answer = {"verdict": {"id": "host_oom"}, "findings": []}

    assert not Recorded(leak, answer, None).right
