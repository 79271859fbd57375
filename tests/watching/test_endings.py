"""Every ending caused for real, and told by a watcher that is nobody's parent."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from demo.tensorboard_server import wait_until
from tb_health_plugin.diagnosis.story import tell
from tb_health_plugin.events import facts
from tb_health_plugin.reading.liveness import Life
from tests.watching import trainer
from tests.watching.conftest import (
    ROOT,
    command,
    memory_group,
    read,
    wait_for_end,
    watchers,
)

pytestmark = pytest.mark.live

GONE = Life(alive=False, because="")
LIMIT_BYTES = 150 << 20

ENDINGS = {
    "finished": (0, None),
    "exception": (1, "code_error"),
    "interrupt": (-signal.SIGINT, "user_interrupt"),
    "sys_exit": (7, "explicit_exit"),
    "os_exit": (3, "explicit_exit"),
    "segfault": (-signal.SIGSEGV, "native_crash"),
    "abort": (-signal.SIGABRT, "native_crash"),
    "SIGBUS": (-signal.SIGBUS, "native_crash"),
    "SIGFPE": (-signal.SIGFPE, "native_crash"),
    "SIGILL": (-signal.SIGILL, "native_crash"),
    "SIGKILL": (-signal.SIGKILL, "killed_outside"),
    "SIGTERM": (-signal.SIGTERM, "preempted"),
    "SIGHUP": (-signal.SIGHUP, "killed_outside"),
    "SIGUSR1": (-signal.SIGUSR1, "killed_outside"),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_it_is_told_by_its_cause_and_the_program_ends_as_it_would(run, ending: str):
    status, verdict = ENDINGS[ending]

    attempt, done = run(ending)

    assert done.returncode == status
    told = tell(attempt, GONE)
    assert (told.verdict.id if told.verdict else None) == verdict
    assert attempt.last_step == trainer.STEPS
    seen = attempt.last(facts.ProcessEnded)
    assert seen.seen_by in ("pidfd", "zombie")
    assert -(seen.signal or 0) + (seen.exit_code or 0) == status


@pytest.mark.parametrize("ending", ["segfault", "abort", "SIGTERM"])
def test_stacks_of_that_moment_are_kept(run, ending: str):
    attempt, _ = run(ending)

    stacks = attempt.last(facts.ProcessEnded).stacks
    assert "trainer.py" in stacks
    assert "in end" in stacks


def test_an_exception_prints_what_it_always_printed(run):
    _, done = run("exception")

    assert done.stderr.endswith(b"ValueError: bad batch\n")
    assert b"Training Health" not in done.stderr


def test_the_tail_of_an_output_file_is_kept(tmp_path: Path):
    log = tmp_path / "train.log"
    with log.open("wb") as output:
        subprocess.run(
            command(tmp_path, "exception"),
            stdout=subprocess.DEVNULL,
            stderr=output,
            cwd=ROOT,
            check=False,
        )

    attempt = wait_for_end(tmp_path)

    assert "bad batch" in attempt.last(facts.ProcessEnded).output_tail


@pytest.mark.parametrize("ending", ["SIGKILL", "finished"])
def test_the_end_leaves_no_process_behind(run, tmp_path: Path, ending: str):
    run(ending)

    wait_until(lambda: not watchers(tmp_path))


def test_a_kill_for_memory_is_told_from_any_other(tmp_path: Path):
    with memory_group(LIMIT_BYTES) as group:
        done = subprocess.run(
            command(tmp_path, "out_of_memory"),
            stdout=subprocess.DEVNULL,
            cwd=ROOT,
            env={**os.environ, "TB_HEALTH_TEST_GROUP": str(group)},
            check=False,
        )
        attempt = wait_for_end(tmp_path)

    assert done.returncode == -signal.SIGKILL
    told = tell(attempt, GONE)
    assert (told.verdict.id, told.verdict.detail) == ("host_oom", "cgroup")
    assert told.verdict.confidence == "proven"
    seen = attempt.last(facts.ProcessEnded)
    assert seen.memory_limit_bytes == LIMIT_BYTES
    # The kill freed the memory: the peak of the last minute still shows it.
    assert seen.peak_memory_bytes > 0.5 * LIMIT_BYTES


def test_a_child_of_the_trainer_that_dies_is_not_the_trainer(tmp_path: Path):
    program = (
        "import os, sys, signal\n"
        "from pathlib import Path\n"
        "from tests.watching.trainer import start, train, finish\n"
        "recorder = start(Path(sys.argv[1]))\n"
        "child = os.fork()\n"
        "if not child: os.kill(os.getpid(), signal.SIGSEGV)\n"
        "os.waitpid(child, 0)\n"
        "train(recorder, 300)\n"
        "finish(recorder)\n"
    )
    subprocess.run(
        [*command(tmp_path, "")[:1], "-c", program, str(tmp_path)],
        stdout=subprocess.DEVNULL,
        cwd=ROOT,
        check=True,
    )

    attempt = wait_for_end(tmp_path)

    assert tell(attempt, GONE).state == "finished"
    assert attempt.last(facts.ProcessEnded).stacks is None


def test_nohup_stays_nohup(tmp_path: Path):
    """What is ignored must stay ignored: the terminal closes, the training goes on."""
    child = subprocess.Popen(
        command(tmp_path, "finished"),
        stdout=subprocess.PIPE,
        cwd=ROOT,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    )
    child.stdout.readline()
    child.send_signal(signal.SIGHUP)
    child.communicate()

    assert child.returncode == 0
    assert tell(wait_for_end(tmp_path), GONE).state == "finished"


def test_a_handler_of_the_program_still_gets_its_signal(tmp_path: Path):
    """SIG_DFL is falsy: tools that chain carelessly swallow SIGTERM. We do not."""
    program = (
        "import signal, sys, os\n"
        "from pathlib import Path\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(42))\n"
        "from tests.watching.trainer import start, train\n"
        "recorder = start(Path(sys.argv[1]))\n"
        "os.kill(os.getpid(), signal.SIGTERM)\n"
        "train(recorder, 300)\n"
    )
    done = subprocess.run(
        [*command(tmp_path, "")[:1], "-c", program, str(tmp_path)],
        stdout=subprocess.DEVNULL,
        cwd=ROOT,
        check=False,
    )

    assert done.returncode == 42
    assert wait_for_end(tmp_path).last(facts.ProcessEnded).exit_code == 42


def test_a_program_that_waits_for_any_child_never_meets_the_watcher(tmp_path: Path):
    program = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from tests.watching.trainer import start, train, finish\n"
        "recorder = start(Path(sys.argv[1]))\n"
        "train(recorder, 500)\n"
        "try: os.wait()\n"
        "except ChildProcessError: finish(recorder)\n"
    )
    subprocess.run(
        [*command(tmp_path, "")[:1], "-c", program, str(tmp_path)],
        stdout=subprocess.DEVNULL,
        cwd=ROOT,
        check=True,
        timeout=60,
    )

    assert tell(wait_for_end(tmp_path), GONE).state == "finished"
    assert read(tmp_path).start.recorded_by == "watcher"


def test_a_child_keeps_what_the_program_set_up_after_us(tmp_path: Path):
    program = (
        "import faulthandler, os, signal, sys\n"
        "from pathlib import Path\n"
        "from tests.watching.trainer import start, finish\n"
        "recorder = start(Path(sys.argv[1]))\n"
        "signal.signal(signal.SIGTERM, lambda *_: os._exit(42))\n"
        "faulthandler.enable()\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    assert faulthandler.is_enabled()\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "_, status = os.waitpid(child, 0)\n"
        "finish(recorder)\n"
        "sys.exit(os.waitstatus_to_exitcode(status))\n"
    )
    done = subprocess.run(
        [*command(tmp_path, "")[:1], "-c", program, str(tmp_path)],
        cwd=ROOT,
        check=False,
    )

    assert done.returncode == 42
    assert wait_for_end(tmp_path).last(facts.ProcessEnded).exit_code == 42


def test_an_exception_that_cannot_say_what_it_is(tmp_path: Path):
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from tests.watching.trainer import start\n"
        "class Bad(Exception):\n"
        "    def __str__(self): raise RuntimeError\n"
        "recorder = start(Path(sys.argv[1]))\n"
        "raise Bad\n"
    )
    done = subprocess.run(
        [*command(tmp_path, "")[:1], "-c", program, str(tmp_path)],
        capture_output=True,
        cwd=ROOT,
        check=False,
    )

    assert b"Error in sys.excepthook" not in done.stderr
    assert wait_for_end(tmp_path).last(facts.RunEnded).exception == "Bad"


@pytest.mark.parametrize("ending", ["finished", "exception"])
def test_the_first_process_of_a_container_takes_its_watcher_along(
    tmp_path: Path, ending: str
):
    """With it the kernel ends all others in there, before they can write an end."""
    alone = ["unshare", "--pid", "--fork", "--mount-proc"]
    if subprocess.run([*alone, "true"], check=False, capture_output=True).returncode:
        pytest.skip("only root may make a namespace of processes")
    done = subprocess.run(
        [*alone, *command(tmp_path, ending)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=ROOT,
        check=False,
    )

    status, verdict = ENDINGS[ending]
    assert done.returncode == status
    assert not watchers(tmp_path)
    told = tell(read(tmp_path), GONE)
    assert (told.verdict.id if told.verdict else None) == verdict
    assert told.headline.endswith(f"at step {trainer.STEPS}")


@pytest.mark.parametrize(
    ("ends", "expected"), [("SIGKILL", [9]), ("SIGTERM", []), ("exit", [])]
)
def test_a_worker_that_is_killed_while_the_training_goes_on(
    tmp_path: Path, ends: str, expected: list[int]
):
    program = (
        "import os, signal, sys, time\n"
        "from pathlib import Path\n"
        "from tests.watching.trainer import start, train, finish\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    sys.stdin.read()\n"
        "    if sys.argv[2] == 'exit': os._exit(0)\n"
        "    os.kill(os.getpid(), signal.Signals[sys.argv[2]])\n"
        "recorder = start(Path(sys.argv[1]))\n"
        "train(recorder, 500)\n"
        "print('trained', flush=True)\n"
        "os.waitpid(child, 0)\n"
        "train(recorder, 500)\n"
        "finish(recorder)\n"
    )
    trainer_process = subprocess.Popen(
        [*command(tmp_path, "")[:1], "-c", program, str(tmp_path), ends],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
    )
    while b"trained" not in trainer_process.stdout.readline():
        pass
    trainer_process.communicate()

    attempt = wait_for_end(tmp_path)

    assert trainer_process.returncode == 0
    assert [child.signal for child in attempt.all(facts.ChildEnded)] == expected
    assert tell(attempt, GONE).state == "finished"
