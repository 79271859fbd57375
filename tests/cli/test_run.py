"""`tb-health run`: what it takes for itself, what it keeps, and what it refuses."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tb_health_plugin.cli import run, signal_relay, stderr_copy
from tb_health_plugin.cli.main import USAGE_ERROR, main
from tb_health_plugin.events import facts
from tb_health_plugin.events.attempt import FileName
from tb_health_plugin.events.event_file import EventFile
from tb_health_plugin.reading.attempt_reader import AttemptReader


class TestArguments:
    @pytest.mark.parametrize(
        ("given", "own", "program"),
        [
            (["t.py"], [], ["t.py"]),
            (["t.py", "--logdir", "x", "--"], [], ["t.py", "--logdir", "x", "--"]),
            (["--logdir", "d", "t.py", "-q"], ["--logdir", "d"], ["t.py", "-q"]),
            (["--logdir=d", "-m", "mod", "a"], ["--logdir=d"], ["-m", "mod", "a"]),
            (["--quiet", "--", "-odd.py", "--"], ["--quiet"], ["-odd.py", "--"]),
            (["--unknown", "t.py"], ["--unknown"], ["t.py"]),
            ([], [], []),
        ],
    )
    def test_ours_end_where_the_program_begins(self, given, own, program):
        assert run.split(given) == (own, program)

    def test_one_that_nobody_knows_is_not_taken_for_a_program(self, capsys):
        with pytest.raises(SystemExit) as stopped:
            main(["run", "--log", "x", "--frobnicate", "t.py"])

        assert stopped.value.code == USAGE_ERROR

    @pytest.mark.parametrize(
        ("line", "options"),
        [
            (["python", "-X", "dev", "-O", "-m", "tb_health_plugin"], 3),
            (["python", "-sP", "/bin/tb-health"], 0),
            (["python", "-m", "tb_health_plugin"], 0),
        ],
    )
    def test_options_of_python_are_the_programs(self, monkeypatch, line, options: int):
        rest = ["run", "-m", "t", "-O"]
        monkeypatch.setattr(sys, "orig_argv", line + rest)
        monkeypatch.setattr(sys, "argv", ["tb-health", *rest])

        assert run._interpreter_options() == line[1 : 1 + options]


class TestWhatCannotStart:
    def refusal(self, capsys, *arguments: str) -> str:
        assert main(["run", *arguments]) == USAGE_ERROR
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        return said

    def test_a_program_that_is_not_there(self, tmp_path: Path, capsys, monkeypatch):
        monkeypatch.chdir(tmp_path)

        said = self.refusal(capsys, "train.py", "--epochs", "3")

        assert said == "tb-health: there is no program train.py\n"
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("arguments", [[], ["-m"], ["--quiet"]])
    def test_no_program_at_all(self, capsys, arguments):
        assert "Try: tb-health run train.py" in self.refusal(capsys, *arguments)

    def test_a_log_directory_that_is_a_file(self, tmp_path: Path, capsys):
        (tmp_path / "file").touch()

        said = self.refusal(capsys, "--logdir", str(tmp_path / "file"), __file__)

        assert "nothing can be recorded in" in said
        assert "Pass --logdir" in said


def test_the_log_directory_is_named_by_program_and_time(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    directory, shown = run._make_logdir(None, "train")

    assert directory == tmp_path / shown
    assert directory.is_dir()
    assert shown.startswith("logs/train-2")


def test_the_attempt_is_found_by_its_process(tmp_path: Path):
    for name in ("20260101-000000-my-host-12-abcdef", "20260101-000001-h-7-12ab34"):
        (tmp_path / "plugins/health" / name).mkdir(parents=True)

    (found,) = run._attempts_of(tmp_path, 12)

    assert found.name == "20260101-000000-my-host-12-abcdef"


class TestTheLastParagraph:
    START = facts.RunStarted(wall_time=1.0, pid=1)

    def told(self, write_attempt, capsys, *more: facts.Fact, code: str = "") -> str:
        reader = AttemptReader(write_attempt(told=[self.START, *more]))
        reader.refresh()
        run._tell_a_bad_end(reader.attempt, "my logs", ended_by(code))
        return capsys.readouterr().err

    def test_a_bad_end_is_said(self, write_attempt, capsys):
        end = facts.RunEnded(
            wall_time=2.0, reason="exception", exception="ValueError", message="bad"
        )

        assert self.told(write_attempt, capsys, end) == (
            "\ntb-health: Stopped by ValueError before the training began.\n"
            "What led to it: tb-health why 'my logs'\n"
            "or, as a page: tensorboard --logdir 'my logs'\n"
        )

    def test_a_good_one_is_not(self, write_attempt, capsys):
        end = facts.RunEnded(wall_time=2.0, reason="finished")

        assert self.told(write_attempt, capsys, end) == ""

    def test_a_good_end_of_a_training_that_is_worth_nothing(
        self, write_attempt, capsys
    ):
        nan = float("nan")
        epochs = [
            facts.EpochEnded(
                wall_time=3.0 + n,
                step=100 * (n + 1),
                training=0,
                epoch=n,
                first_step=100 * n,
                last_step=100 * (n + 1),
                metrics={"loss": nan},
                loss_profile=(nan, nan),
            )
            for n in range(3)
        ]
        said = self.told(
            write_attempt,
            capsys,
            facts.TrainingStarted(wall_time=2.0, training=0, planned_epochs=3),
            facts.FirstBadNumber(
                wall_time=2.5, step=7, training=0, seen_in="loss", bad_step=7
            ),
            *epochs,
            facts.TrainingEnded(
                wall_time=7.0, step=300, training=0, epochs_done=3, reason="returned"
            ),
            facts.RunEnded(wall_time=8.0, step=300, reason="finished", last_step=300),
        )

        assert "NaN" in said.partition("What led to it")[0]

    @pytest.mark.parametrize(
        ("code", "words"),
        [
            ("sys.exit(3)", "The program ended with status 3."),
            ("os.kill(os.getpid(), 9)", "The program ended with SIGKILL."),
        ],
    )
    def test_an_end_that_is_not_written_is_told_as_far_as_it_is_known(
        self, write_attempt, capsys, code: str, words: str
    ):
        said = self.told(write_attempt, capsys, code=code)

        assert said.startswith(f"\ntb-health: {words}\nWhat led to it: tb-health why")

    def test_a_program_that_went_well_needs_no_words(self, write_attempt, capsys):
        assert self.told(write_attempt, capsys) == ""


def ended_by(code: str) -> "os.waitid_result":
    """How a program with this code ends."""
    child = subprocess.Popen([sys.executable, "-c", f"import os, sys\n{code}"])
    ended = os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    child.wait()
    assert ended is not None
    return ended


class TestWaitingForTheEnd:
    @pytest.fixture
    def directory(self, tmp_path: Path) -> Path:
        directory = tmp_path / "plugins/health/20260101-000000-host-12-abcdef"
        directory.mkdir(parents=True)
        return directory

    def records(self, directory: Path, *, seen: float, **start) -> EventFile:
        file = EventFile(directory / str(FileName("records", 0)), now=seen)
        file.append_fact(facts.RunStarted(wall_time=seen, pid=12, **start))
        return file

    def test_a_late_one_is_waited_for(self, directory: Path, tmp_path: Path):
        file = self.records(directory, seen=time.time(), recorded_by="watcher")
        end = facts.ProcessEnded(wall_time=time.time(), signal=9)
        late = threading.Timer(0.2, file.append_fact, [end])
        late.start()

        attempt = run._recorded_attempt(tmp_path, 12, patience=60.0)

        late.join()
        file.close()
        assert attempt is not None
        assert attempt.last(facts.ProcessEnded) == end

    def test_nobody_waits_long_for_a_watcher_that_fell_silent(
        self, directory: Path, tmp_path: Path, monkeypatch
    ):
        monkeypatch.setattr(run, "_SUCCESS_WRITTEN_SECONDS", 0.0)
        self.records(directory, seen=time.time() - 60, recorded_by="watcher").close()

        # For an hour, if it did.
        attempt = run._recorded_attempt(tmp_path, 12, patience=3_600.0)

        assert attempt is not None
        assert attempt.last(facts.ProcessEnded) is None

    def test_without_a_watcher_there_is_nothing_to_wait_for(
        self, directory: Path, tmp_path: Path
    ):
        self.records(directory, seen=time.time(), recorded_by="thread").close()

        assert run._recorded_attempt(tmp_path, 12, patience=3_600.0) is not None


class TestTheTailOfStandardError:
    def test_it_holds_the_last_bytes_and_stays_small(self):
        tail = stderr_copy.Tail()
        written = b""
        for number in range(20_000):
            line = b"line %d \xff\n" % number
            tail.add(line)
            written += line

        kept = Path(tail.path).read_bytes()

        assert written.endswith(kept)
        assert stderr_copy.KEPT_BYTES <= len(kept) <= stderr_copy.MOST_BYTES

    def test_one_write_may_be_larger_than_all_of_it(self):
        tail = stderr_copy.Tail()
        tail.add(b"x" * 1_000_000 + b"end")

        kept = Path(tail.path).read_bytes()

        assert kept.endswith(b"xend")
        assert len(kept) == stderr_copy.KEPT_BYTES


class TestSignals:
    @pytest.fixture
    def relay(self, monkeypatch):
        """One with a witness that says what the test says."""
        monkeypatch.setattr(signal_relay, "_start_witness", lambda *_: None)
        monkeypatch.setattr(signal_relay, "_NAMES", ())
        monkeypatch.setattr(signal_relay, "_WITNESS_SECONDS", 0.01)
        relay = signal_relay.SignalRelay(lambda: None)
        os.close(relay._reports)
        relay._reports, self.out = os.pipe()
        os.set_blocking(relay._reports, False)
        yield relay
        signal.set_wakeup_fd(-1)
        os.close(relay._reports)
        os.close(self.out)

    @pytest.fixture
    def sent(self, monkeypatch) -> list[tuple[int, int]]:
        sent: list[tuple[int, int]] = []
        monkeypatch.setattr(
            signal_relay.os, "kill", lambda pid, number: sent.append((pid, number))
        )
        return sent

    def witness_saw(self, number: int, *, seconds_ago: float = 0.0) -> None:
        at = signal_relay.time.monotonic() - seconds_ago
        os.write(self.out, signal_relay._SEEN.pack(number, at))

    def test_one_for_the_launcher_alone_is_handed_on(self, relay, sent):
        relay.begin(99)
        self.witness_saw(signal.SIGUSR1)

        relay._arrived(signal.SIGTERM, None)

        assert sent == [(99, signal.SIGTERM)]

    def test_one_that_came_to_all_is_not(self, relay, sent):
        relay.begin(99)
        self.witness_saw(signal.SIGTERM)

        relay._arrived(signal.SIGTERM, None)
        assert sent == []

        relay._arrived(signal.SIGTERM, None)
        assert sent == [(99, signal.SIGTERM)]

    def test_what_the_witness_saw_long_ago_was_another(self, relay, sent):
        relay.begin(99)
        self.witness_saw(signal.SIGTERM, seconds_ago=10.0)

        relay._arrived(signal.SIGTERM, None)

        assert sent == [(99, signal.SIGTERM)]

    def test_one_that_comes_before_the_program_waits_for_it(self, relay, sent):
        relay._arrived(signal.SIGTERM, None)
        assert sent == []

        relay.begin(99)
        assert sent == [(99, signal.SIGTERM)]

    def test_none_is_sent_to_a_process_that_is_gone(self, relay, sent):
        relay.begin(99)
        relay.stop()

        relay._arrived(signal.SIGTERM, None)

        assert sent == []
