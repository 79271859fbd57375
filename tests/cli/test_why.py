"""`tb-health why`, `replay` and `explain`: what they print, and their exit status."""

import dataclasses
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tb_health_plugin.cli.main import HEALTHY, PROBLEM_FOUND, USAGE_ERROR, main
from tb_health_plugin.diagnosis.rules import all_rules
from tb_health_plugin.events import facts
from tb_health_plugin.events.attempt import FileName
from tb_health_plugin.events.event_file import EventFile
from tb_health_plugin.recording import this_process
from tests.conftest import worker_settings

START = facts.RunStarted(
    wall_time=1.0,
    pid=1,
    not_recorded=(facts.NotRecorded(what="GPU memory", why="there is no GPU"),),
)
BEGUN = facts.TrainingStarted(wall_time=2.0, training=0, planned_epochs=1)
DONE = facts.TrainingEnded(wall_time=3.0, step=80, training=0, epochs_done=1)
KILLED = facts.ProcessEnded(
    wall_time=9.0, step=149, signal=9, seen_by="pidfd", cgroup_oom_kills=0
)


def test_a_run_that_was_killed(logs: Path, write_attempt, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    write_attempt("dead", told=[START, BEGUN, KILLED])

    assert main(["why", str(logs)]) == PROBLEM_FOUND

    said = capsys.readouterr().out
    assert said.startswith("dead · Killed\nKilled from outside (SIGKILL) at step 149\n")
    assert "How we know\n  - The process was ended by SIGKILL." in said
    assert "What to do\n" in said
    assert "\nNot measured\n" in said
    assert "  - GPU memory: there is no GPU" in said
    assert all(len(line) <= 80 for line in said.splitlines())


@pytest.mark.parametrize("command", ["why", "show"])
def test_the_directory_of_one_run_gives_it_a_name(
    logs: Path, write_attempt, capsys, command: str
):
    write_attempt("dead", told=[START, BEGUN, KILLED])

    main([command, str(logs / "dead")])

    assert capsys.readouterr().out.startswith("dead · Killed")


def test_an_end_that_is_about_to_be_written_is_waited_for(
    logs: Path, write_attempt, capsys
):
    child = subprocess.Popen([sys.executable, "-c", ""], stdin=subprocess.DEVNULL)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    now = time.time()
    start = dataclasses.replace(
        START,
        wall_time=now,
        pid=child.pid,
        recorded_by="watcher",
        boot_id=this_process.boot_id(),
        process_start_ticks=this_process.start_ticks(child.pid),
    )
    directory = write_attempt("dead", told=[start])
    end = dataclasses.replace(KILLED, wall_time=now)

    def write_the_end() -> None:
        records = EventFile(directory / str(FileName("records", 1)), now=now)
        records.append_fact(end)
        records.close()

    late = threading.Timer(0.3, write_the_end)
    late.start()
    main(["why", str(logs)])
    late.join()
    child.wait()

    assert "Killed from outside (SIGKILL)" in capsys.readouterr().out


def test_a_healthy_run(logs: Path, write_attempt, capsys):
    write_attempt("fine", told=[START, BEGUN, DONE])

    assert main(["why", str(logs / "fine")]) == HEALTHY
    assert "Finished as planned at step 80" in capsys.readouterr().out


def test_earlier_starts_of_the_run_are_told(logs: Path, write_attempt, capsys):
    again = [
        dataclasses.replace(one, wall_time=one.wall_time + 90)
        for one in (START, BEGUN, DONE)
    ]
    write_attempt("run", id="a1", told=[START, BEGUN, KILLED])
    write_attempt("run", id="a2", told=again)

    assert main(["why", str(logs)]) == HEALTHY

    said = capsys.readouterr().out
    assert "Finished as planned at step 80" in said
    assert (
        "Earlier starts of this run\n  - 1: Killed from outside (SIGKILL) at step 149"
        in said
    )


def test_json_is_all_there_is(logs: Path, write_attempt, capsys):
    write_attempt("dead", told=[START, BEGUN, KILLED])

    assert main(["why", str(logs), "--run", "dead", "--json"]) == PROBLEM_FOUND
    assert json.loads(capsys.readouterr().out)["verdict"]["id"] == "killed_outside"


def test_nothing_there_is_one_clear_sentence(logs: Path, capsys):
    assert main(["why", str(logs)]) == USAGE_ERROR
    assert main(["why", str(logs / "none")]) == USAGE_ERROR

    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith(f"tb-health: No runs below {logs}: it holds neither")
    assert second.endswith("none does not exist")


def test_the_page_of_the_verdict_is_named(logs: Path, write_attempt, capsys):
    write_attempt("dead", told=[START, BEGUN, KILLED])

    main(["why", str(logs)])

    assert "tb-health explain killed_outside" in capsys.readouterr().out


class TestRules:
    def test_a_silenced_rule_is_told_as_silenced(
        self, logs: Path, write_attempt, capsys
    ):
        write_attempt("fine", told=[START, BEGUN, DONE])

        assert main(["why", str(logs), "--rules", "overfitting=off"]) == HEALTHY

        said = capsys.readouterr().out
        assert "Silenced, so nobody looked\n  - overfitting (by whoever reads)" in said

    def test_a_number_that_was_set_is_told(self, logs: Path, write_attempt, capsys):
        told = facts.RulesChosen(wall_time=1.5, rules={"overfitting.clear_rise": "0.9"})
        write_attempt("fine", told=[START, told, BEGUN, DONE])

        main(["why", str(logs)])

        said = capsys.readouterr().out
        assert "overfitting.clear_rise is 0.9, not 0.25 (by the run itself)" in said

    def test_a_file_in_the_log_directory_counts_for_all(
        self, logs: Path, write_attempt, capsys
    ):
        write_attempt("a/fine", told=[START, BEGUN, DONE])
        (logs / "health_rules.json").write_text('{"overfitting": "off"}')
        (logs / "a" / "health_rules.json").write_text('{"nan_op": "off"}')

        main(["why", str(logs), "--json", "--rules", "nan_op=on"])

        (silenced,) = json.loads(capsys.readouterr().out)["silenced"]
        assert silenced == {"rule": "overfitting", "by": "reader"}

    def test_nonsense_is_one_clear_sentence(self, logs: Path, write_attempt, capsys):
        write_attempt("fine", told=[START, BEGUN, DONE])

        assert main(["why", str(logs), "--rules", "overfiting=off"]) == USAGE_ERROR
        (logs / "health_rules.json").write_text("{")
        assert main(["why", str(logs)]) == USAGE_ERROR

        first, second = capsys.readouterr().err.splitlines()
        assert first.startswith("tb-health: no rule is called 'overfiting'")
        assert second.startswith(f"tb-health: {logs / 'health_rules.json'} is not used")


def test_replay_says_when_it_was_known(logs: Path, write_attempt, capsys):
    write_attempt("dead", told=[START, BEGUN, KILLED])

    assert main(["replay", str(logs)]) == HEALTHY
    assert capsys.readouterr().out.startswith("At the end: Killed from outside")


def test_explain_has_a_page_for_each_rule(capsys):
    assert main(["explain"]) == HEALTHY
    lines = capsys.readouterr().out.splitlines()
    ids = [line.split()[0] for line in lines]
    assert ids[: len(all_rules())] == [rule.id for rule in all_rules()]
    assert "killed_outside" in ids

    assert main(["explain", "no_such_rule"]) == USAGE_ERROR
    assert "tb-health explain lists them" in capsys.readouterr().err


class TestWorkers:
    @pytest.fixture
    def two(self, logs: Path, write_attempt) -> Path:
        for rank, number in ((0, 15), (1, 9)):
            settings = worker_settings(rank)
            write_attempt(
                id=f"a{rank}",
                told=[
                    facts.RunStarted(wall_time=1.0, settings=settings),
                    facts.TrainingStarted(wall_time=1.0, training=0),
                    facts.ProcessEnded(wall_time=60.0 - 10 * rank, signal=number),
                ],
            )
        return logs

    def test_each_is_told_with_its_part(self, two: Path, capsys):
        main(["why", str(two)])

        told = capsys.readouterr().out
        assert "worker 1 (root): Killed from outside (SIGKILL)" in told
        assert "worker 0 (consequence): Asked to stop (SIGTERM)" in told
