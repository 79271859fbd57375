"""`tb-health run` beside plain `python`: the program must not notice the difference."""

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import tty
from collections.abc import Iterator
from pathlib import Path

import pytest

from demo.tensorboard_server import wait_until
from tb_health_plugin.diagnosis.story import tell
from tb_health_plugin.events import facts
from tests.watching.conftest import read, wait_for_end, watchers
from tests.watching.test_endings import ENDINGS, GONE

pytestmark = pytest.mark.live

# Far longer than anything takes, also on a busy machine.
SECONDS = 120
OUR_WORDS = b"\ntb-health: "

END = """
import ctypes, os, signal, sys
print("out", *sys.argv[1:])
sys.stderr.write("err\\n")
sys.stdout.flush()
ending = sys.argv[1]
if ending == "exception":
    raise ValueError("bad batch")
elif ending == "sys_exit":
    sys.exit(7)
elif ending == "sys_exit_text":
    sys.exit("no data \\u00e9")
elif ending == "os_exit":
    os._exit(3)
elif ending == "interrupt":
    raise KeyboardInterrupt
elif ending == "segfault":
    ctypes.string_at(0)
elif ending == "abort":
    os.abort()
elif ending != "finished":
    os.kill(os.getpid(), signal.Signals[ending])
"""

FACTS = """
import os, sys, signal
objects = ("__loader__", "__spec__", "objects")
print(sorted((n, repr(v)) for n, v in globals().items() if n not in objects))
print(type(__loader__), __spec__ and __spec__.name)
print(sys.argv, sys.orig_argv, sys.path, os.getcwd(), sys.flags)
print(sorted(os.environ.items()), signal.pthread_sigmask(signal.SIG_BLOCK, []))
print([(s.name, str(signal.getsignal(s))) for s in signal.Signals])
print(sys.modules["__main__"].__dict__ is globals(), os.getpgrp(), os.getsid(0))
"""

TRAINING = """
import numpy as np
{imports}
x = np.ones((64, 4), "float32")
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, x[:, :1], batch_size=8, epochs=2, verbose=0{more})
"""


def launcher(tmp_path: Path) -> list[str]:
    logdir = str(tmp_path / "logs")
    return [sys.executable, "-m", "tb_health_plugin", "run", "--logdir", logdir]


def write(tmp_path: Path, text: str, name: str = "program.py") -> str:
    (tmp_path / name).write_text(text, encoding="utf-8")
    return name


def run(command, tmp_path: Path, **options) -> "subprocess.CompletedProcess[bytes]":
    options = {"capture_output": True, "cwd": tmp_path, "timeout": SECONDS, **options}
    return subprocess.run(command, check=False, **options)


def both(tmp_path: Path, *program: str, **options):
    """Without and with the launcher; its own last words are cut off."""
    plain = run([sys.executable, *program], tmp_path, **options)
    launched = run([*launcher(tmp_path), *program], tmp_path, **options)
    launched.stderr = launched.stderr.split(OUR_WORDS)[0]
    return plain, launched


def assert_same(plain, launched) -> None:
    assert launched.returncode == plain.returncode
    assert launched.stdout == plain.stdout
    assert launched.stderr == plain.stderr


@pytest.fixture
def start(tmp_path: Path) -> Iterator[object]:
    """Starts a program under the launcher, in a process group of its own."""
    with contextlib.ExitStack() as to_end:

        def started(text: str, **options) -> "subprocess.Popen[bytes]":
            options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, **options}
            child = subprocess.Popen(
                [*launcher(tmp_path), write(tmp_path, text)],
                cwd=tmp_path,
                start_new_session=True,
                **options,
            )
            to_end.callback(end, child)
            return child

        yield started


def end(child: "subprocess.Popen[bytes]") -> None:
    child.kill()
    child.communicate()


class TestTheProgramEndsAsItWould:
    @pytest.mark.parametrize("ending", [*ENDINGS, "sys_exit_text"])
    def test_status_and_output_are_the_same(self, tmp_path: Path, ending: str):
        program = write(tmp_path, END)

        plain, launched = both(tmp_path, program, ending, "--logdir", "x", "--", "-m")

        assert_same(plain, launched)
        seen = wait_for_end(tmp_path / "logs").last(facts.ProcessEnded)
        assert -(seen.signal or 0) + (seen.exit_code or 0) == plain.returncode

    @pytest.mark.parametrize(
        "text", ["x = 1 +\n", "import none_such\n", "\xe9 = 1/0\n"]
    )
    def test_errors_of_the_program_look_the_same(self, tmp_path: Path, text: str):
        assert_same(*both(tmp_path, write(tmp_path, text)))

    def test_a_hook_of_the_program_for_exceptions(self, tmp_path: Path):
        program = write(
            tmp_path,
            "import sys, traceback\n"
            "def hook(kind, error, trace):\n"
            "    print(kind, traceback.extract_tb(trace))\n"
            "    print(error.__traceback__ is trace)\n"
            "sys.excepthook = hook\n"
            "raise ValueError('bad')\n",
        )

        assert_same(*both(tmp_path, program))
        ended = wait_for_end(tmp_path / "logs").last(facts.RunEnded)
        assert ended.exception == "ValueError"

    def test_exit_handlers_run_in_their_order(self, tmp_path: Path):
        program = write(
            tmp_path,
            "import atexit, sys\n"
            "for n in range(3): atexit.register(print, n)\n"
            "sys.exit(4)\n",
        )

        assert_same(*both(tmp_path, program))


class TestTheProgramSeesWhatItWould:
    @pytest.mark.parametrize(
        "program",
        [
            ("program.py", "a", "-x"),
            ("./sub/../program.py",),
            ("-m", "program", "-m", "x"),
            ("-m", "package.inner"),
            ("-m", "package"),
            ("sub",),
            ("link.py",),
        ],
        ids=" ".join,
    )
    def test_itself(self, tmp_path: Path, program: tuple[str, ...]):
        for folder, name in (("package", "inner"), ("sub", "__main__")):
            (tmp_path / folder).mkdir()
            write(tmp_path / folder, FACTS, f"{name}.py")
        write(tmp_path / "package", FACTS, "__main__.py")
        write(tmp_path / "package", "", "__init__.py")
        write(tmp_path / "sub", FACTS, "real.py")
        write(tmp_path, FACTS)
        (tmp_path / "link.py").symlink_to("sub/real.py")

        plain, launched = both(tmp_path, *program)

        assert_same(plain, launched)
        assert plain.returncode == 0

    def test_a_module_that_is_not_there(self, tmp_path: Path):
        assert_same(*both(tmp_path, "-m", "none.such"))

    def test_modules_of_the_current_folder_do_not_get_in_our_way(self, tmp_path: Path):
        (tmp_path / "sub").mkdir()
        write(tmp_path / "sub", "print('fine')\n", "real.py")
        for name in ("tempfile", "ctypes", "tb_health_plugin"):
            write(tmp_path, "raise RuntimeError('not meant')\n", f"{name}.py")

        command = [str(Path(sys.executable).parent / "tb-health"), "run", "sub/real.py"]
        done = run(command, tmp_path)

        assert (done.stdout, done.stderr) == (b"fine\n", b"")

    def test_options_of_the_interpreter(self, tmp_path: Path):
        program = write(tmp_path, "import sys; print(sys.flags, sys.warnoptions)")
        options = ["-O", "-W", "ignore", "-X", "dev"]
        python, *rest = launcher(tmp_path)

        plain = run([python, *options, program], tmp_path)
        launched = run([python, *options, *rest, program], tmp_path)

        assert_same(plain, launched)

    def test_standard_input(self, tmp_path: Path):
        program = write(tmp_path, "import sys; print(sys.stdin.read()[::-1])")

        plain, launched = both(tmp_path, program, input=b"hello")

        assert_same(plain, launched)
        assert plain.stdout == b"olleh\n"


class TestStandardError:
    def test_each_byte_arrives_in_its_order(self, tmp_path: Path):
        program = write(
            tmp_path,
            "import os\n"
            "for n in range(3_000):\n"
            "    os.write(2, b'\\r%d \\xff\\xfe \\x1b[31m\\n' % n * 20)\n",
        )

        assert_same(*both(tmp_path, program))

    def test_its_tail_is_kept_native_output_too(self, tmp_path: Path, start):
        child = start(
            "import os, signal, sys\n"
            "os.write(2, b'x' * 100_000 + b'\\nF tensorflow \\xff: Check failed\\n')\n"
            "sys.stdin.readline()\n"
            "os.kill(os.getpid(), signal.SIGKILL)\n",
            stderr=subprocess.PIPE,
        )
        while b"Check failed" not in child.stderr.readline():
            pass
        child.communicate(b"\n", timeout=SECONDS)

        tail = wait_for_end(tmp_path / "logs").last(facts.ProcessEnded).output_tail
        assert tail.endswith("xxx\nF tensorflow \ufffd: Check failed\n")
        assert len(tail) <= 8 << 10

    def test_the_tail_of_its_log_is_kept_beside_it(self, tmp_path: Path):
        program = write(
            tmp_path,
            "import logging, os, signal\n"
            "logging.basicConfig(filename='log.txt', level='INFO')\n"
            "logging.getLogger('my.data').info('shard %d', 7)\n"
            "os.kill(os.getpid(), signal.SIGKILL)\n",
        )

        run([*launcher(tmp_path), program], tmp_path)

        seen = wait_for_end(tmp_path / "logs").last(facts.ProcessEnded)
        assert seen.log_tail == "INFO my.data: shard 7\n"
        assert (tmp_path / "log.txt").read_text() == "INFO:my.data:shard 7\n"

    def test_a_file_is_left_alone_and_its_tail_is_kept(self, tmp_path: Path):
        program = write(
            tmp_path,
            "import os, stat; print(stat.S_ISREG(os.fstat(2).st_mode), flush=True)\n"
            "raise ValueError('bad batch')\n",
        )
        with (tmp_path / "log").open("wb") as log:
            done = run(
                [*launcher(tmp_path), program],
                tmp_path,
                capture_output=False,
                stdout=subprocess.PIPE,
                stderr=log,
            )

        assert done.stdout == b"True\n"
        seen = wait_for_end(tmp_path / "logs").last(facts.ProcessEnded)
        assert "bad batch" in seen.output_tail

    def test_a_reader_that_goes_away_is_noticed(self, tmp_path: Path, start):
        child = start(
            "import os\n"
            "while True:\n"
            "    try: os.write(2, b'x' * 1_000)\n"
            "    except BrokenPipeError: os._exit(9)\n",
            stderr=subprocess.PIPE,
        )
        child.stderr.read(10)
        child.stderr.close()

        assert child.wait(SECONDS) == 9

    def test_a_child_that_outlives_the_program_may_go_on_writing(self, tmp_path: Path):
        program = write(
            tmp_path,
            "import os, sys, time\n"
            "if os.fork(): os._exit(5)\n"
            "while os.path.exists(sys.argv[1]): time.sleep(0.01)\n"
            "os.write(2, b'late')\n",
        )
        marker = tmp_path / "marker"
        marker.touch()
        child = subprocess.Popen(
            [*launcher(tmp_path), program, str(marker)],
            cwd=tmp_path,
            stderr=subprocess.PIPE,
        )

        status = child.wait(SECONDS)
        marker.unlink()

        assert status == 5
        assert child.communicate(timeout=SECONDS)[1].endswith(b"late")


def resize(fd: int, lines: int, columns: int) -> None:
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("4H", lines, columns, 0, 0))


class TestATerminal:
    ASK = (
        "import os, sys, time\n"
        "print([os.isatty(n) for n in range(3)], os.get_terminal_size(2), flush=True)\n"
        "sys.stderr.write('one\\ntwo\\r\\033[31mred\\n')\n"
        "sys.stderr.flush()\n"
        "while os.get_terminal_size(2).columns == 99: time.sleep(0.01)\n"
        "print(os.get_terminal_size(2), flush=True)\n"
    )

    @pytest.fixture
    def terminal(self):
        """The end of a terminal that a person would sit at, and the other one."""
        ours, theirs = pty.openpty()
        # As a screen shows it: no echo, nothing translated on the way to us.
        tty.setraw(theirs)
        resize(theirs, 33, 99)
        yield ours, theirs
        os.close(ours)

    def start(self, tmp_path: Path, terminal, text: str) -> "subprocess.Popen[bytes]":
        def control() -> None:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        _, theirs = terminal
        child = subprocess.Popen(
            [*launcher(tmp_path), write(tmp_path, text)],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=tmp_path,
            start_new_session=True,
            preexec_fn=control,
        )
        os.close(theirs)
        return child

    def read_until(self, ours: int, ending: bytes) -> bytes:
        data = b""
        while not data.endswith(ending):
            assert select.select([ours], [], [], SECONDS)[0], data
            data += os.read(ours, 1_000)
        return data

    def test_it_stays_one_of_the_same_size(self, tmp_path: Path, terminal):
        ours, _ = terminal
        child = self.start(tmp_path, terminal, self.ASK)

        shown = self.read_until(ours, b"red\n")
        resize(ours, 44, 111)
        after = self.read_until(ours, b"\n")

        assert b"[True, True, True] os.terminal_size(columns=99, lines=33)" in shown
        assert shown.endswith(b"one\ntwo\r\033[31mred\n")
        assert after == b"os.terminal_size(columns=111, lines=44)\n"
        assert child.wait(SECONDS) == 0
        tail = wait_for_end(tmp_path / "logs").last(facts.ProcessEnded).output_tail
        assert tail == "one\ntwo\r\033[31mred\n"

    def test_ctrl_c_is_one_interrupt(self, tmp_path: Path, terminal):
        ours, theirs = terminal
        attributes = termios.tcgetattr(theirs)
        attributes[3] |= termios.ISIG
        termios.tcsetattr(theirs, termios.TCSANOW, attributes)
        child = self.start(tmp_path, terminal, COUNT_INTERRUPTS)
        self.read_until(ours, b"ready\n")

        os.write(ours, b"\x03")

        assert self.read_until(ours, b"done\n") == b"1 done\n"
        assert child.wait(SECONDS) == 6


# Ends half a second after the first: long enough for a second one to arrive.
COUNT_INTERRUPTS = """
import os, select, signal, sys
count = 0
def more(*_):
    global count
    count += 1
for name in ("SIGINT", "SIGTERM", "SIGUSR1"):
    signal.signal(getattr(signal, name), more)
print("ready", flush=True)
while not count:
    select.select([], [], [], 0.05)
select.select([], [], [], 0.5)
print(count, "done", flush=True)
sys.exit(6)
"""


class TestSignals:
    @pytest.mark.parametrize("name", ["SIGTERM", "SIGUSR1", "SIGINT"])
    @pytest.mark.parametrize("to_all", [False, True])
    def test_each_reaches_the_program_once(self, start, name: str, to_all: bool):
        child = start(COUNT_INTERRUPTS)
        assert child.stdout.readline() == b"ready\n"

        number = signal.Signals[name]
        (os.killpg if to_all else os.kill)(child.pid, number)

        assert child.communicate(timeout=SECONDS)[0] == b"1 done\n"
        assert child.returncode == 6

    @pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP"])
    def test_one_that_ends_the_program_ends_the_launcher(
        self, tmp_path: Path, start, name: str
    ):
        child = start("print('ready', flush=True)\nwhile True: pass\n")
        assert child.stdout.readline() == b"ready\n"

        os.kill(child.pid, signal.Signals[name])

        assert child.wait(SECONDS) == -signal.Signals[name]
        seen = wait_for_end(tmp_path / "logs").last(facts.ProcessEnded)
        assert seen.signal == signal.Signals[name]

    def test_a_kill_of_the_launcher_kills_the_program(self, tmp_path: Path, start):
        child = start("import os; print(os.getpid(), flush=True)\nwhile True: pass\n")
        pid = int(child.stdout.readline())

        child.kill()

        seen = wait_for_end(tmp_path / "logs").last(facts.ProcessEnded)
        assert seen.signal == signal.SIGKILL
        wait_until(lambda: not Path(f"/proc/{pid}").exists())

    def test_a_stop_and_a_go_reach_the_program(self, start):
        child = start("import os; print(os.getpid(), flush=True)\nwhile True: pass\n")
        pid = int(child.stdout.readline())

        def state() -> str:
            text = Path(f"/proc/{pid}/stat").read_text()
            return text.rpartition(")")[2].split()[0]

        os.kill(child.pid, signal.SIGTSTP)
        # A group without a shell above it cannot be stopped in this way.
        os.kill(pid, signal.SIGSTOP)
        wait_until(lambda: state() == "T")
        os.kill(child.pid, signal.SIGCONT)

        wait_until(lambda: state() in "RS")

    def test_what_was_ignored_stays_ignored(self, tmp_path: Path, start):
        child = start(
            "import sys; print('ready', flush=True); sys.stdin.readline()\n",
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
        )
        child.stdout.readline()
        os.killpg(child.pid, signal.SIGHUP)

        child.communicate(b"\n", timeout=SECONDS)

        assert child.returncode == 0


class TestKeras:
    @pytest.fixture(autouse=True)
    def has_keras(self):
        pytest.importorskip("keras")

    def train(self, tmp_path: Path, imports: str = "import keras", more: str = ""):
        program = write(tmp_path, TRAINING.format(imports=imports, more=more))
        done = run([*launcher(tmp_path), program], tmp_path, timeout=SECONDS)
        return done, wait_for_end(tmp_path / "logs")

    @pytest.mark.parametrize(
        "imports",
        ["import keras", "import tensorflow as tf; keras = tf.keras"],
    )
    def test_a_training_that_knows_nothing_of_us(self, tmp_path: Path, imports: str):
        done, attempt = self.train(tmp_path, imports)

        assert done.returncode == 0
        assert OUR_WORDS not in done.stderr
        (begun,) = attempt.all(facts.TrainingStarted)
        assert (begun.planned_epochs, begun.planned_steps_per_epoch) == (2, 8)
        assert attempt.last_step == 16
        assert tell(attempt, GONE).state == "finished"
        assert attempt.start.program == "program.py"

    def test_its_own_callback_is_not_a_second_recording(self, tmp_path: Path):
        imports = "import keras; from tb_health_plugin import HealthCallback"

        _, attempt = self.train(
            tmp_path, imports, ", callbacks=[HealthCallback('logs')]"
        )

        assert len(list((tmp_path / "logs/plugins/health").iterdir())) == 1
        assert len(attempt.all(facts.TrainingStarted)) == 1
        assert attempt.last_step == 16

    def test_its_own_callback_for_another_directory(self, tmp_path: Path):
        imports = "import keras; from tb_health_plugin import HealthCallback"

        self.train(tmp_path, imports, ", callbacks=HealthCallback('other')")

        for name in ("logs", "other"):
            attempt = wait_for_end(tmp_path / name)
            assert len(list((tmp_path / name / "plugins/health").iterdir())) == 1
            assert attempt.last_step == 16

    def test_an_error_in_fit_shows_no_frame_of_ours(self, tmp_path: Path):
        stop = (
            "import keras\n"
            "class Stop(keras.callbacks.Callback):\n"
            "    def on_epoch_end(self, epoch, logs=None): raise ValueError('stop')"
        )

        done, attempt = self.train(tmp_path, stop, ", callbacks=[Stop()]")

        assert done.returncode == 1
        assert b"keras_pickup" not in done.stderr
        assert (
            b"tb-health: The callback Stop raised ValueError at step 8." in done.stderr
        )
        assert attempt.last(facts.RunEnded).line == 5


def test_nothing_is_said_when_quiet(tmp_path: Path):
    command = [*launcher(tmp_path), "--quiet", write(tmp_path, END), "abort"]

    done = run(command, tmp_path)

    assert done.stderr == b"err\n"
    assert done.returncode == -signal.SIGABRT


def test_the_end_leaves_no_process_behind(tmp_path: Path):
    run([*launcher(tmp_path), write(tmp_path, END), "SIGKILL"], tmp_path)

    wait_until(lambda: not watchers(tmp_path))
    assert read(tmp_path / "logs").last(facts.ProcessEnded)


def test_recording_that_cannot_start_lets_the_program_run(tmp_path: Path):
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/plugins").touch()

    done = run([*launcher(tmp_path), write(tmp_path, END), "sys_exit"], tmp_path)

    assert done.returncode == 7
    assert b"stopped recording anything" in done.stderr
    assert b"is a file" in done.stderr
