"""What really happened is still told from the record of it, and health is silence."""

import dataclasses
import json
import re

import pytest

from tb_health_plugin.diagnosis.engine import judge
from tb_health_plugin.events import facts
from tb_health_plugin.reading.run_history import Attempt
from tests import runs
from tests.runs.scrub import MOST_BYTES, Scrubber, scrub, told

FAILING = [name for name in runs.names() if name not in runs.healthy_names()]


@pytest.mark.parametrize("name", FAILING)
def test_the_cause_is_named(name: str):
    expected = runs.expected(name)

    answer = told(runs.history(name))

    verdict = answer["verdict"]
    assert verdict["id"] == expected["verdict"], verdict["headline"]
    assert verdict["detail"] == expected["detail"]
    assert answer["state"] == expected["state"]
    assert answer["findings"][0]["id"] == expected["verdict"]


@pytest.mark.parametrize("name", runs.healthy_names())
def test_a_healthy_run_gets_no_warning(name: str):
    story = judge(runs.attempt(name), runs.GONE)

    alarms = [one.headline for one in story.findings if one.severity != "info"]
    assert alarms == []
    answer = told(runs.history(name))
    assert answer["verdict"]["id"] == runs.expected(name)["verdict"]


def test_there_are_enough_healthy_runs_to_mean_something():
    assert len(runs.healthy_names()) >= 6


@pytest.mark.parametrize("name", runs.names())
def test_a_recorded_run_is_small_and_nameless(name: str):
    paths = [p for p in (runs.HERE / name).rglob("*") if p.is_file()]
    attempt = runs.attempt(name)

    assert sum(path.stat().st_size for path in paths) <= MOST_BYTES
    shown = json.dumps([dataclasses.asdict(f) for f in attempt.everything()])
    folders = set(re.findall(r"(?<![\w.:/])(/\w+)/", shown))
    assert folders <= {"/env", "/project", "/proc", "/sys", "/dev"}
    start = attempt.start
    assert start is None or start.host in (None, "host")


class TestScrubber:
    def test_takes_names_of_machine_folders_and_program_out(self):
        start = facts.RunStarted(wall_time=1.0, host="anna-pc", program="tune.py")
        text = (
            'File "/home/anna/deep/tune.py", line 3 in main\n'
            'File "/home/anna/.venv/lib/python3.11/site-packages/keras/src/a.py"\n'
            "on anna-pc: /proc/self/status"
        )

        clean = Scrubber(start).text(text)

        assert clean == (
            'File "/project/train.py", line 3 in main\n'
            'File "/env/lib/python3.11/site-packages/keras/src/a.py"\n'
            "on host: /proc/self/status"
        )

    def test_leaves_words_of_the_record_alone(self):
        start = facts.RunStarted(wall_time=1.0, host="dense", program="a.py")

        assert Scrubber(start).text("model/dense_1/kernel") == "model/dense_1/kernel"

    def test_thins_samples_and_keeps_the_last(self, tmp_path):
        from tb_health_plugin.reading.attempt_reader import AttemptReader

        source = Attempt("a")
        source.period_seconds = 1.0
        source.samples.append(
            {"wall_time": [float(t) for t in range(1000)], "step": list(range(1000))}
        )
        scrub(source, tmp_path / "a1")

        reader = AttemptReader(tmp_path / "a1")
        reader.refresh()
        thin = reader.attempt.samples
        assert len(thin) < 130
        assert thin.column("step")[-5:].tolist() == [995, 996, 997, 998, 999]
        assert reader.attempt.period_seconds == 9.0
