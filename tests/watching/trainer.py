"""A trainer without TensorFlow: steps of a millisecond, and any ending one likes.

python -m tests.watching.trainer LOGDIR ENDING
"""

import ctypes
import os
import signal
import sys
import time
from pathlib import Path

from tb_health_plugin.events import facts
from tb_health_plugin.events.attempt import new_attempt_directory
from tb_health_plugin.recording import recorder as recorder_module
from tb_health_plugin.recording.process_end import ProcessEnd, on_process_end
from tb_health_plugin.recording.recorder import Recorder
from tb_health_plugin.writing.phases import Phase

PERIOD = 0.2
STEPS = 300
# Milliseconds, but for a busy machine.
WATCHED_WITHIN_SECONDS = 60.0


def start(logdir: Path, *, watcher: bool = True) -> Recorder:
    """Records like the callback does."""
    directory = new_attempt_directory(logdir)
    recorder = Recorder(logdir, directory, period_seconds=PERIOD, watcher=watcher)

    def ended(end: ProcessEnd) -> None:
        recorder.close(
            facts.RunEnded(
                wall_time=end.happened_at,
                step=recorder.progress.step,
                reason=end.reason,
                exception=end.exception,
                message=end.message,
                training_under_way=recorder.progress.phase != Phase.NOT_TRAINING,
            )
        )

    on_process_end(ended)
    # Keras needs longer than this to its first step.
    recorder.wait_until_watched(WATCHED_WITHIN_SECONDS)
    now = time.time()
    recorder.record(facts.TrainingStarted(wall_time=now, training=0, planned_epochs=1))
    recorder.enter(Phase.TRAINING)
    return recorder


def train(recorder: Recorder, steps: int, *, seconds: float = 0.001) -> None:
    """Says each step after it was published: what is said must be in the record."""
    for _ in range(steps):
        time.sleep(seconds)
        recorder.progress.step += 1
        recorder.publish()
        os.write(1, b"%d\n" % recorder.progress.step)


def finish(recorder: Recorder) -> None:
    step = recorder.progress.step
    recorder.enter(Phase.NOT_TRAINING)
    recorder.record(
        facts.TrainingEnded(
            wall_time=time.time(), step=step, training=0, last_step=step, epochs_done=1
        )
    )


def end(recorder: Recorder, ending: str) -> None:
    if ending == "finished":
        finish(recorder)
    elif ending == "exception":
        raise ValueError("bad batch")
    elif ending == "sys_exit":
        sys.exit(7)
    elif ending == "os_exit":
        os._exit(3)
    elif ending == "interrupt":
        raise KeyboardInterrupt
    elif ending == "segfault":
        ctypes.string_at(0)
    elif ending == "abort":
        os.abort()
    elif ending in ("out_of_memory", "cpu_limit", "time_limit"):
        use_up(recorder, ending)
    elif ending == "worker_killed":
        lose_a_worker()
        train(recorder, STEPS)
        finish(recorder)
    elif ending in ("wait", "killed_together", "machine_restarted"):
        time.sleep(600)
    elif ending == "nobody_watched":
        # Long enough for the thread to have written something.
        train(recorder, 1_000)
        os.kill(os.getpid(), signal.SIGKILL)
    else:
        # "SIGTERM_slurm" is SIGTERM, in another environment.
        os.kill(os.getpid(), signal.Signals[ending.split("_")[0]])


def lose_a_worker() -> None:
    """A child that lives for a while and is killed, as a worker for data may be."""
    child = os.fork()
    if not child:
        time.sleep(600)
    # Those that live for less than five seconds may be missed.
    time.sleep(6)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def use_up(recorder: Recorder, ending: str) -> None:
    """Trains on until there is no more of it."""
    hoard = []
    while True:
        if ending == "out_of_memory":
            hoard.append(os.urandom(1 << 20))
        if ending == "cpu_limit":
            compute(0.005)
        train(recorder, 1)


def compute(seconds: float) -> None:
    """Keeps a core busy; what sleeps often is hardly counted on some machines."""
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass


def join_group() -> None:
    """Moves this process into the control group that the test made for it."""
    group = os.environ.get("TB_HEALTH_TEST_GROUP")
    if group:
        Path(group, "cgroup.procs").write_text(str(os.getpid()))


def main(logdir: str, ending: str) -> None:
    join_group()
    patience = os.environ.get("TB_HEALTH_TEST_PATIENCE")
    if patience:
        recorder_module.LOST_AFTER_SECONDS = float(patience)
    # A Python that was made for the test; the watcher is started by it, too.
    sys.executable = os.environ.get("TB_HEALTH_TEST_PYTHON", sys.executable)
    recorder = start(Path(logdir), watcher=ending != "nobody_watched")
    if ending == "endless":
        train(recorder, 1_000_000)
    train(recorder, STEPS)
    end(recorder, ending)


if __name__ == "__main__":
    main(*sys.argv[1:])
