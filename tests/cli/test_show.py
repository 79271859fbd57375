"""`tb-health show` and `watch`: a run as bars, once or until it ends."""

import io
import os
from pathlib import Path

import pytest
from rich.console import Console

from tb_health_plugin.cli.main import HEALTHY, PROBLEM_FOUND, main
from tb_health_plugin.cli.watch import watch
from tb_health_plugin.events import facts
from tb_health_plugin.events.attempt import FileName
from tb_health_plugin.events.event_file import EventFile
from tests import runs

LOSSES = (4.0, 2.0, float("nan"))
BEGUN = facts.TrainingStarted(wall_time=2.0, training=0, planned_epochs=1)
DONE = facts.TrainingEnded(wall_time=3.0, step=80, training=0, epochs_done=1)


def this_process() -> facts.RunStarted:
    """A start that says that this very process trains."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return facts.RunStarted(wall_time=1.0, pid=os.getpid(), boot_id=boot)


def test_every_lane_has_its_bars(logs: Path, write_attempt, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    samples = [
        (2.0 + i, {"step": float(i), "loss": loss, "process_rss_bytes": 2.0**30})
        for i, loss in enumerate(LOSSES)
    ]
    start = facts.RunStarted(wall_time=1.0, pid=1)
    write_attempt(told=[start, BEGUN, DONE], samples=samples)

    assert main(["show", str(logs)]) == HEALTHY

    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "run · Finished · step 80 · 3.0 s"
    loss = next(line for line in lines if line.startswith("Loss"))
    assert loss.split() == ["Loss", "█▁!", "2", "to", "4"]
    assert all(len(line) <= 80 for line in lines)


def test_what_happened_is_told_below(capsys):
    assert main(["show", str(runs.HERE / "native_crash")]) == PROBLEM_FOUND

    assert "The process ended with signal 6" in capsys.readouterr().out


def test_a_run_that_is_over_is_shown_once(capsys):
    assert main(["watch", str(runs.HERE / "killed_outside")]) == PROBLEM_FOUND

    said = capsys.readouterr().out
    assert said.count("Ended from outside (SIGHUP)") == 2
    assert "What to do" in said


@pytest.mark.parametrize("terminal", [False, True])
def test_a_running_one_is_followed_to_its_end(
    logs: Path, write_attempt, monkeypatch, terminal: bool
):
    directory = write_attempt(told=[this_process(), BEGUN])

    def end(_: float) -> None:
        file = EventFile(directory / str(FileName("records", 1)), now=3.0)
        file.append_fact(DONE)
        file.append_fact(facts.RunEnded(wall_time=4.0, step=80, reason="finished"))
        file.append_fact(facts.ProcessEnded(wall_time=5.0, step=80, exit_code=0))
        file.close()

    monkeypatch.setattr("tb_health_plugin.cli.watch.time.sleep", end)
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=80)

    _, told = watch(logs, None, console)

    assert told.story.state == "finished"
    assert "Running, before the first step" in out.getvalue()
    assert "Finished as planned at step 80" in out.getvalue()


def test_leaving_the_watch_is_no_problem(logs: Path, write_attempt, monkeypatch):
    write_attempt(told=[this_process(), BEGUN])

    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tb_health_plugin.cli.watch.time.sleep", interrupt)

    assert main(["watch", str(logs)]) == HEALTHY


def test_stacks_of_a_hang_are_shown_as_far_as_they_are_the_programs_own(capsys):
    main(["show", str(Path(runs.__file__).parent / "input_hang")])

    said = capsys.readouterr().out
    assert (
        """\
      the thread that trains:
        /project/train.py:47 in <module>
        /project/train.py:40 in on_train_batch_end
"""
        in said
    )
    assert "/env/lib" not in said
