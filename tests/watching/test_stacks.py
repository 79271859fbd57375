"""Asking for stacks, and above all not asking."""

import contextlib
import faulthandler
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tb_health_plugin.events.python_stacks import (
    innermost_own_frame,
    parse,
    training_thread,
)
from tb_health_plugin.recording.crash_stacks import STACKS_SIGNAL
from tb_health_plugin.recording.this_process import start_ticks
from tb_health_plugin.watching import stacks
from tb_health_plugin.watching.last_words import LastWords
from tb_health_plugin.watching.stacks import Trainer

FIRST = 'Thread 0x00007f (most recent call first):\n  File "a.py", line 1 in f\n'
CRASH = (
    "Fatal Python error: Segmentation fault\n\nCurrent thread 0x00007f (most recent "
    'call first):\n  File "c.py", line 3 in g\n'
)


class TestLastWords:
    @pytest.fixture
    def file(self, tmp_path: Path):
        with (tmp_path / "stacks").open("w+b", buffering=0) as file:
            yield file

    @pytest.fixture
    def words(self, file):
        return LastWords(file.fileno(), "")

    def test_stacks_that_were_asked_for_are_not_of_the_end(self, file, words):
        words.ask()
        file.write(FIRST.encode())

        assert words.take() == FIRST
        assert words.stacks() == ""

    def test_a_crash_after_that_is(self, file, words):
        words.ask()
        file.write(FIRST.encode())
        words.take()
        file.write(CRASH.encode())

        assert words.stacks() == CRASH

    def test_a_request_to_end_after_that_is(self, file, words):
        words.ask()
        file.write(FIRST.encode())
        words.take()
        file.write(FIRST.encode())

        assert words.stacks() == FIRST

    def test_an_answer_that_came_late_is_not(self, file, words):
        words.ask()
        assert words.take() == ""
        file.write(FIRST.encode())

        assert words.stacks() == ""

    def test_a_crash_behind_a_late_answer_is(self, file, words):
        words.ask()
        words.take()
        file.write((FIRST + CRASH).encode())

        assert words.stacks() == CRASH

    def test_a_crash_while_we_ask_is(self, file, words):
        words.ask()
        file.write(CRASH.encode())
        words.take()

        assert words.stacks() == CRASH

    def test_where_there_is_no_file(self):
        words = LastWords(-1, "")
        words.ask()

        assert words.take() == words.stacks() == ""


class Child:
    """A process that does as told, and that we ask for stacks."""

    def __init__(self, file, program: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", f"import os, sys, time\n{program}"],
            stdout=subprocess.PIPE,
            stdin=subprocess.PIPE,
            pass_fds=[file.fileno()],
            start_new_session=True,
        )
        assert self.process.stdout.readline() == b"ready\n"
        self.fd = os.pidfd_open(self.process.pid)
        self.ticks = start_ticks(self.process.pid)
        self.words = LastWords(file.fileno(), "")

    def trainer(self, **more) -> Trainer:
        fields = {
            "start_ticks": self.ticks,
            "stacks_signal": STACKS_SIGNAL,
            "last_words": self.words,
            **more,
        }
        fd = fields.pop("fd", self.fd)
        return Trainer(self.process.pid, fd, **fields)

    def is_alive(self) -> bool:
        return self.process.poll() is None

    def end(self) -> None:
        # Its children, too.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()
        os.close(self.fd)


ANSWERS = (
    "import faulthandler\n"
    f"faulthandler.register({int(STACKS_SIGNAL)}, int(sys.argv[1]), all_threads=True)\n"
)
WAITS = "print('ready', flush=True)\nsys.stdin.read()\n"


@pytest.fixture
def child(tmp_path: Path):
    made: list[Child] = []
    with (tmp_path / "stacks").open("w+b", buffering=0) as file:

        def start(program: str) -> Child:
            program = program.replace("int(sys.argv[1])", str(file.fileno()))
            made.append(Child(file, program))
            return made[-1]

        yield start
        for one in made:
            one.end()


class TestAsking:
    @pytest.mark.parametrize("fd", [None, -1])
    def test_a_trainer_answers(self, child, fd: int | None):
        one = child(ANSWERS + WAITS)
        trainer = one.trainer() if fd is None else one.trainer(fd=fd)

        scene = trainer.scene()

        assert '<string>", line' in scene.stacks
        assert scene.state == "S"
        assert not scene.computes
        assert one.is_alive()

    def test_a_thread_that_computes_is_seen(self, child):
        one = child(
            ANSWERS + "import threading\n"
            "def spin():\n"
            "    while True: pass\n"
            "threading.Thread(target=spin, daemon=True).start()\n" + WAITS
        )

        assert one.trainer().scene().computes

    def test_twice_gives_two_answers(self, child):
        one = child(ANSWERS + WAITS)
        first, second = one.trainer().scene(), one.trainer().scene()

        assert first.stacks.count("thread 0x") == second.stacks.count("thread 0x") == 1

    def test_children_are_told_of(self, child):
        one = child(
            ANSWERS + "import subprocess\n"
            "subprocess.Popen(['sleep', '600'], stdin=subprocess.DEVNULL)\n"
            "subprocess.Popen(['true'])\n" + WAITS
        )
        trainer = one.trainer()

        text = trainer.text(trainer.scene())

        assert "sleep: sleeping" in text
        assert "of CPU so far" in text


class TestNotAsking:
    """The signal ends a process that does not wait for it."""

    def test_without_a_handler(self, child):
        one = child(WAITS)
        scene = one.trainer().scene()

        assert scene.stacks == ""
        assert "no handler" in one.trainer().text(scene)
        assert one.is_alive()

    def test_where_the_signal_is_the_programs_own(self, child):
        """The trainer says which signal is ours; 0 is none."""
        one = child(
            "import signal\n"
            f"signal.signal({int(STACKS_SIGNAL)}, lambda *_: os._exit(3))\n" + WAITS
        )

        assert one.trainer(stacks_signal=0).scene().stacks == ""
        assert one.is_alive()

    def test_a_later_process_with_the_same_id(self, child):
        one = child(ANSWERS + WAITS)

        assert one.trainer(start_ticks=one.ticks + 1).scene().stacks == ""

    def test_by_its_id_alone(self, child):
        one = child(ANSWERS + WAITS)

        assert one.trainer(fd=-1, start_ticks=None).scene().stacks == ""

    def test_after_it_became_another_program(self, child):
        one = child(
            ANSWERS + "os.execlp('sh', 'sh', '-c', 'echo ready; exec sleep 600')"
        )

        assert one.trainer().scene().stacks == ""
        assert one.is_alive()

    def test_a_stopped_process(self, child):
        one = child(ANSWERS + WAITS)
        one.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, one.process.pid, os.WSTOPPED | os.WNOWAIT)
        trainer = one.trainer()
        scene = trainer.scene()
        one.process.send_signal(signal.SIGCONT)

        assert (scene.state, scene.stacks) == ("T", "")
        assert "stopped process" in trainer.text(scene)
        assert one.words.stacks() == ""

    def test_a_process_that_is_gone(self, child):
        one = child(ANSWERS + WAITS)
        one.process.communicate()
        trainer = one.trainer()
        scene = trainer.scene()

        assert scene.stacks == ""
        assert trainer.text(scene)

    def test_one_that_blocks_the_signal_is_not_waited_for_long(
        self, child, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(stacks, "ANSWER_SECONDS", 0.3)
        one = child(
            ANSWERS + "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, "
            f"[{int(STACKS_SIGNAL)}])\n" + WAITS
        )
        trainer = one.trainer()
        scene = trainer.scene()

        assert scene.stacks == ""
        assert "did not answer" in trainer.text(scene)


class TestPySpy:
    def fake(self, tmp_path: Path, monkeypatch, script: str) -> None:
        path = tmp_path / "py-spy"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        monkeypatch.setattr(stacks, "_find_pyspy", lambda: str(path))

    def text(self, child) -> str:
        one = child(
            ANSWERS + "import subprocess\n"
            "subprocess.Popen(['sleep', '600'], stdin=subprocess.DEVNULL)\n" + WAITS
        )
        trainer = one.trainer()
        return trainer.text(trainer.scene())

    def test_it_adds_native_frames_and_children(self, child, tmp_path, monkeypatch):
        self.fake(
            tmp_path, monkeypatch, 'echo "train.py --key=secret\n\nThread 1\nasked: $*"'
        )
        text = self.text(child)

        assert "asked: dump --native --pid" in text
        assert "secret" not in text
        assert text.count("asked: dump --pid") == 1

    def test_arguments_of_the_program_stay_out_of_the_record(
        self, child, tmp_path, monkeypatch
    ):
        self.fake(tmp_path, monkeypatch, 'echo "train.py --key=secret"')

        assert "secret" not in self.text(child)

    def test_it_may_not_look(self, child, tmp_path, monkeypatch):
        self.fake(tmp_path, monkeypatch, "echo Permission denied >&2; exit 1")

        assert "(py-spy failed: Permission denied)" in self.text(child)

    @pytest.mark.skipif(os.geteuid() != 0, reason="py-spy may look at others as root")
    def test_the_real_one_sees_the_native_frame_that_waits(self, child):
        assert stacks._find_pyspy(), "make env installs it"
        one = child(
            ANSWERS + "import ctypes, sys\n"
            "lock = ctypes.create_string_buffer(64)\n"
            "libc = ctypes.PyDLL(None)  # keeps the interpreter to itself\n"
            "libc.pthread_mutex_lock(lock)\n"
            "print('ready', flush=True)\n"
            "libc.pthread_mutex_lock(lock)\n"
        )
        trainer = one.trainer()
        text = trainer.text(trainer.scene())

        assert "With native frames, by py-spy" in text
        assert "pthread_mutex_lock" in text.split("by py-spy", 1)[1]

    def test_it_hangs_itself(self, child, tmp_path, monkeypatch):
        monkeypatch.setattr(stacks, "PYSPY_SECONDS", 0.3)
        self.fake(tmp_path, monkeypatch, "exec sleep 600")
        text = self.text(child)

        assert "timed out" in text
        assert "took too long" in text

    def test_without_it_the_text_says_so(self, child, monkeypatch):
        monkeypatch.setattr(stacks, "_find_pyspy", lambda: None)

        assert "if py-spy is installed" in self.text(child)


class TestReading:
    def test_what_faulthandler_writes(self, tmp_path: Path):
        with (tmp_path / "dump").open("w+") as file:
            faulthandler.dump_traceback(file, all_threads=True)
            file.seek(0)
            text = file.read()

        thread = training_thread(parse(text))

        assert thread.is_current
        assert thread.frames[0].function == "test_what_faulthandler_writes"
        assert innermost_own_frame(thread).file == __file__

    def test_names_of_threads_as_newer_pythons_write_them(self):
        text = FIRST.replace("00007f ", "00007f [loader] ")

        assert len(parse(text)) == 1

    def test_anything_else_is_skipped(self):
        text = f'  File "x.py", line 1 in x\nhello\n{FIRST}\n  File "b.py", line 2 in b'

        (thread,) = parse(text)
        assert [frame.file for frame in thread.frames] == ["a.py"]

    def test_nothing(self):
        assert training_thread(parse("")) is None
