"""What a signal means, and what it must not be taken for."""

import signal

import pytest

from tb_health_plugin.diagnosis.story import tell
from tb_health_plugin.diagnosis.verdict import Story
from tb_health_plugin.events import facts
from tb_health_plugin.reading.liveness import Life
from tb_health_plugin.reading.run_history import Attempt
from tb_health_plugin.reading.table import TIME

GONE = Life(alive=False, because="Process 1 is gone.")
GIB = float(1 << 30)

# As a real crash looked: our own thread first, then the one that crashed.
CRASH = """Fatal Python error: Segmentation fault

Thread 0x00007f1c2bfff6c0 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 331 in wait
  File "/usr/lib/python3.11/threading.py", line 982 in run

Current thread 0x00007f1d9a2b3740 (most recent call first):
  File "/usr/lib/python3.11/ctypes/__init__.py", line 519 in string_at
  File "/home/ana/train.py", line 26 in on_train_batch_end
  File "/usr/lib/python3.11/site-packages/keras/src/trainer.py", line 377 in fit
  File "/home/ana/train.py", line 60 in <module>
"""


def story(
    *more: facts.Fact, trained: bool = True, limit: float | None = None, **seen
) -> Story:
    attempt = Attempt("a")
    if limit is not None:
        attempt.samples.append({TIME: [1.0], "cgroup_memory_limit_bytes": [limit]})
        seen["memory_limit_bytes"] = limit
    attempt.add(facts.RunStarted(wall_time=1.0, pid=1))
    if trained:
        attempt.add(facts.TrainingStarted(wall_time=2.0, training=0, planned_epochs=3))
        attempt.add(facts.EpochEnded(wall_time=3.0, step=1_234, epoch=0))
    for fact in more:
        attempt.add(fact)
    attempt.add(facts.ProcessEnded(wall_time=9.0, step=1_234, **seen))
    return tell(attempt, GONE)


class TestSigkill:
    def killed(self, **seen) -> Story:
        return story(signal=signal.SIGKILL, **seen)

    def test_a_limit_that_was_reached_between_two_samples_is_the_groups(self):
        attempt = Attempt("a")
        attempt.samples.append(
            {
                TIME: [1.0],
                "cgroup_memory_limit_bytes": [GIB],
                "host_memory_used_bytes": [2 * GIB],
                "host_memory_total_bytes": [24 * GIB],
            }
        )
        attempt.add(facts.RunStarted(wall_time=1.0, pid=1))
        attempt.add(
            facts.ProcessEnded(
                wall_time=9.0,
                signal=signal.SIGKILL,
                cgroup_oom_kills=1,
                machine_oom_kills=1,
                peak_memory_bytes=0.3 * GIB,
                memory_limit_bytes=GIB,
            )
        )

        told = tell(attempt, GONE)

        assert (told.verdict.id, told.verdict.detail) == ("host_oom", "cgroup")

    def test_a_kill_counted_in_the_group_is_proven(self):
        told = self.killed(
            cgroup_oom_kills=1,
            machine_oom_kills=1,
            peak_memory_bytes=0.9 * GIB,
            limit=GIB,
        )

        assert told.headline == "Killed by the OS for lack of memory at step 1,234"
        assert (told.verdict.id, told.verdict.detail) == ("host_oom", "cgroup")
        assert told.verdict.confidence == "proven"

    def test_a_group_without_a_limit_died_of_the_machine(self):
        """The kernel counts a victim in its group, whoever ran out of memory."""
        told = self.killed(cgroup_oom_kills=1, machine_oom_kills=1)

        assert (told.verdict.detail, told.verdict.confidence) == ("machine", "proven")

    def test_a_kill_counted_on_a_full_machine_is_likely(self):
        told = self.killed(
            cgroup_oom_kills=0,
            machine_oom_kills=1,
            peak_memory_bytes=15 * GIB,
            memory_limit_bytes=16 * GIB,
        )

        assert (told.verdict.detail, told.verdict.confidence) == ("machine", "likely")
        assert "15.0 of 16.0 GiB" in told.verdict.evidence[-1].text

    def test_somebody_was_killed_but_perhaps_not_for_us(self):
        told = self.killed(
            machine_oom_kills=1, peak_memory_bytes=GIB, memory_limit_bytes=16 * GIB
        )

        assert (told.verdict.id, told.verdict.confidence) == ("host_oom", "possible")

    def test_a_kill_in_another_container_is_not_ours(self):
        attempt = Attempt("a")
        attempt.add(facts.RunStarted(wall_time=1.0, pid=1))
        attempt.add(facts.TrainingStarted(wall_time=2.0, training=0, planned_epochs=3))
        attempt.samples.append(
            {
                "wall_time": [8.0],
                "host_memory_used_bytes": [2.0 * GIB],
                "host_memory_total_bytes": [16.0 * GIB],
            }
        )
        attempt.add(
            facts.ProcessEnded(
                wall_time=9.0,
                step=7,
                signal=signal.SIGKILL,
                cgroup_oom_kills=0,
                machine_oom_kills=1,
                peak_memory_bytes=GIB,
                memory_limit_bytes=16 * GIB,
            )
        )

        told = tell(attempt, GONE)

        assert told.verdict.id == "killed_outside"
        assert "another container" in told.verdict.because

    def test_a_bare_sigkill_is_not_a_lack_of_memory(self):
        told = self.killed(
            cgroup_oom_kills=0,
            machine_oom_kills=0,
            peak_memory_bytes=15.9 * GIB,
            memory_limit_bytes=16 * GIB,
        )

        assert told.verdict.id == "killed_outside"
        assert told.headline == "Killed from outside (SIGKILL) at step 1,234"

    def test_where_nobody_counts_memory_is_not_ruled_out(self):
        told = self.killed()

        assert told.verdict.confidence == "possible"
        assert "cannot be ruled out" in told.verdict.because


@pytest.mark.parametrize(
    ("number", "verdict", "state", "words"),
    [
        (signal.SIGSEGV, "native_crash", "died", "segmentation fault"),
        (signal.SIGABRT, "native_crash", "died", "abort"),
        (signal.SIGBUS, "native_crash", "died", "bus error"),
        (signal.SIGFPE, "native_crash", "died", "arithmetic fault"),
        (signal.SIGILL, "native_crash", "died", "illegal instruction"),
        (signal.SIGTERM, "preempted", "ended_early", "Asked to stop"),
        (signal.SIGHUP, "killed_outside", "ended_early", "SIGHUP"),
        (signal.SIGINT, "user_interrupt", "ended_early", "Ctrl-C"),
        (signal.SIGUSR1, "killed_outside", "ended_early", "SIGUSR1"),
        (63, "killed_outside", "ended_early", "signal 63"),
    ],
)
def test_other_signals(number: int, verdict: str, state: str, words: str):
    told = story(signal=int(number))

    assert (told.verdict.id, told.state) == (verdict, state)
    assert words in told.headline
    assert len(told.headline) <= 70


def test_a_crash_names_the_line_of_python_it_came_from():
    told = story(signal=signal.SIGSEGV, stacks=CRASH)

    assert told.verdict.place == {"file": "/home/ana/train.py", "line": 26}
    assert "train.py, line 26" in told.verdict.evidence[1].text


def test_an_exit_that_python_did_not_see():
    told = story(exit_code=3)

    assert told.verdict.id == "explicit_exit"
    assert told.headline == "The program ended itself with status 3 at step 1,234"


def test_an_orderly_exit_tells_its_status():
    ended = facts.RunEnded(wall_time=8.0, step=1_234, reason="finished")

    told = story(ended, exit_code=7)

    assert told.verdict.evidence[0].text == "The process exited with status 7."


def test_a_kill_right_after_the_training_is_told_beside_it():
    done = facts.TrainingEnded(wall_time=8.0, step=1_234, training=0, epochs_done=3)

    told = story(done, signal=signal.SIGKILL)

    assert (told.state, told.severity) == ("finished", "warning")
    assert told.headline == (
        "The training finished at step 1,234, then the program was ended (SIGKILL)"
    )


def test_a_kill_for_memory_right_after_the_training_says_so():
    done = facts.TrainingEnded(wall_time=8.0, step=1_234, training=0, epochs_done=3)

    told = story(done, signal=signal.SIGKILL, cgroup_oom_kills=1, machine_oom_kills=1)

    assert told.verdict.id == "host_oom"
    assert told.headline.endswith("then the OS killed the program for lack of memory")


def test_a_kill_long_after_the_training_is_another_story():
    done = facts.TrainingEnded(wall_time=-99.0, step=1_234, training=0, epochs_done=3)

    assert story(done, signal=signal.SIGKILL).severity == "info"


def test_what_python_reported_comes_before_the_signal():
    """abort() in an exit handler after an exception is not the cause."""
    ended = facts.RunEnded(
        wall_time=8.0, step=1_234, reason="exception", exception="ValueError"
    )

    assert story(ended, signal=signal.SIGABRT).verdict.id == "code_error"


def test_gone_without_a_status_stays_unknown():
    told = story(seen_by="gone")

    assert told.verdict.id == "unknown"
    assert told.verdict.evidence[0].text == "The watcher saw it go, but not how."


def test_killed_before_the_training_began():
    told = story(trained=False, signal=signal.SIGKILL, cgroup_oom_kills=1)

    assert told.headline.endswith("lack of memory before the training began")


def test_a_bad_status_before_a_training_is_told():
    ended = facts.RunEnded(wall_time=8.0, reason="finished")

    told = story(ended, trained=False, exit_code=7)

    assert told.headline == "The program ended with status 7 before a training began"
    assert told.severity == "warning"


def test_a_good_status_without_a_training_is_no_trouble():
    ended = facts.RunEnded(wall_time=8.0, reason="finished")

    assert story(ended, trained=False, exit_code=0).severity == "info"


class TestSchedulers:
    @pytest.mark.parametrize(
        ("line", "detail"),
        [
            (
                "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-01-01T10:00:00 "
                "DUE TO TIME LIMIT ***",
                "time_limit",
            ),
            (
                "slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-01-01T10:00:00"
                " DUE TO PREEMPTION ***",
                "preemption",
            ),
            (
                "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-01-01T10:00:00 "
                "***",
                "cancelled",
            ),
        ],
    )
    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
    def test_slurm_says_why(self, line: str, detail: str, number: int):
        told = story(signal=int(number), output_tail=f"Epoch 3\n{line}\n")

        assert (told.verdict.id, told.verdict.detail) == ("preempted", detail)
        assert told.verdict.confidence == "proven"

    def test_slurm_says_that_it_was_memory(self):
        told = story(
            signal=signal.SIGKILL,
            output_tail="slurmstepd: error: Detected 1 oom-kill event(s) in step 7.0",
        )

        assert (told.verdict.id, told.verdict.confidence) == ("host_oom", "likely")

    def test_a_training_that_prints_such_words_is_none(self):
        told = story(signal=signal.SIGKILL, output_tail="CANCELLED AT step 4\n")

        assert told.verdict.id == "killed_outside"

    @pytest.mark.parametrize(
        ("settings", "name"),
        [({"env.SLURM_JOB_ID": "7"}, "Slurm"), ({"env.KUBERNETES": "True"}, "Kube")],
    )
    def test_who_may_have_asked(self, settings: dict[str, str], name: str):
        attempt = Attempt("a")
        attempt.add(facts.RunStarted(wall_time=1.0, pid=1, settings=settings))
        attempt.add(facts.TrainingStarted(wall_time=2.0, training=0))
        attempt.add(facts.ProcessEnded(wall_time=9.0, step=7, signal=15))

        told = tell(attempt, GONE)

        assert told.verdict.id == "preempted"
        assert f"possibly by {name}" in told.headline


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (signal.SIGHUP, "terminal"),
        (signal.SIGXCPU, "CPU time"),
        (signal.SIGXFSZ, "size"),
        (signal.SIGALRM, "timer"),
    ],
)
def test_signals_with_a_meaning_of_their_own(number: int, words: str):
    told = story(signal=int(number))

    assert told.verdict.id == "killed_outside"
    assert words in told.verdict.because
    assert told.verdict.fixes
