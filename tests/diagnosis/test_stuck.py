"""A training that stands still, and what must not be taken for one."""

import signal

import pytest

from tb_health_plugin.diagnosis.story import tell
from tb_health_plugin.diagnosis.verdict import Story
from tb_health_plugin.events import facts
from tb_health_plugin.reading.liveness import Life
from tb_health_plugin.reading.run_history import Attempt

ALIVE = Life(alive=True, because="Process 7 is running.")
GONE = Life(alive=False, because="Process 7 is gone.")
STACKS = (
    "Python stacks of process 7, which trains\n\n"
    "Thread 0x00007f01 (most recent call first):\n"
    '  File "/home/me/data.py", line 21 in generate\n'
    '  File "/venv/lib/python3.11/site-packages/tensorflow/x.py", line 1 in call\n\n'
    "Current thread 0x00007f02 (most recent call first):\n"
    '  File "/usr/lib/python3.11/threading.py", line 320 in wait\n'
    '  File "/home/me/train.py", line 60 in step\n'
)


def stalled(waits_for: str = "lock", **more) -> facts.Stalled:
    fields = {
        "wall_time": 1_010.0,
        "step": 2_048,
        "since": 1_000.0,
        "silent_seconds": 9.0,
        "usual_seconds": 0.12,
        "phase": "training",
        "because": "Its Python stack says so.",
        "stacks": STACKS,
        "cpu_fraction": 0.01,
    }
    return facts.Stalled(waits_for=waits_for, **{**fields, **more})


def went_on(at: float = 1_043.0) -> facts.StallEnded:
    return facts.StallEnded(
        wall_time=at, step=2_048, since=1_000.0, silent_seconds=43.0
    )


def killed(number: int, **more) -> facts.ProcessEnded:
    fields = {"wall_time": 1_000.0 + 18 * 60, "step": 2_048, "signal": int(number)}
    return facts.ProcessEnded(**{**fields, **more})


def later(seconds: float, step: int = 2_048) -> facts.Incident:
    """Something that shows how long the record goes on."""
    return facts.Incident(wall_time=1_000.0 + seconds, step=step)


def story(*told: facts.Fact, life: Life = ALIVE) -> Story:
    attempt = Attempt("a")
    attempt.add(facts.RunStarted(wall_time=1.0, pid=7))
    attempt.add(facts.TrainingStarted(wall_time=2.0, training=0, planned_epochs=3))
    for fact in told:
        attempt.add(fact)
    return tell(attempt, life)


class TestStuck:
    def test_the_words(self):
        told = story(stalled(), later(18 * 60 + 20))

        assert (told.state, told.severity) == ("stuck", "critical")
        assert told.chip == "Stuck for 18 min"
        assert told.headline == (
            "No step has finished for 18 minutes (last: step 2,048)"
        )

    @pytest.mark.parametrize(
        ("seconds", "chip"),
        [
            (12, "Stuck for 12 s"),
            (119, "Stuck for 119 s"),
            (120, "Stuck for 2 min"),
            (7_199, "Stuck for 119 min"),
            (3 * 86_400, "Stuck for 72 h"),
        ],
    )
    def test_how_long(self, seconds: float, chip: str):
        assert story(stalled(), later(seconds)).chip == chip

    @pytest.mark.parametrize(
        ("waits_for", "verdict", "confidence"),
        [
            ("data", "input_hang", "likely"),
            ("callback", "callback_hang", "likely"),
            ("stopped", "stopped_process", "proven"),
            ("lock", "compute_hang", "likely"),
            ("peer", "peer_lost", "likely"),
            ("disk", "compute_hang", "likely"),
            ("busy", "compute_hang", "likely"),
            ("compile", "compute_hang", "likely"),
            ("unknown", "compute_hang", "possible"),
            ("a later word", "compute_hang", "likely"),
            (None, "compute_hang", "possible"),
        ],
    )
    def test_the_cause(self, waits_for: str, verdict: str, confidence: str):
        told = story(stalled(waits_for))

        assert (told.verdict.id, told.verdict.confidence) == (verdict, confidence)
        assert told.verdict.fixes
        assert told.verdict.fixes[0].why

    @pytest.mark.parametrize(
        ("waits_for", "code"),
        [
            ("data", "for number, batch in enumerate(data):  # what fit() was given"),
            ("callback", "lock.acquire(timeout=60)"),
            ("busy", "cat -n /home/me/train.py | sed -n 55,65p"),
            ("peer", "pgrep -af train.py  # on the machine of each"),
            ("stopped", "kill -CONT 7"),
            ("unknown", "pip install py-spy && py-spy dump --native --pid 7"),
        ],
    )
    def test_what_to_paste(self, waits_for: str, code: str):
        told = story(stalled(waits_for))

        assert told.verdict.fixes[0].code.splitlines()[0] == code

    def test_its_line(self):
        assert story(stalled()).verdict.place == {
            "file": "/home/me/train.py",
            "line": 60,
        }

    def test_the_line_that_should_make_the_data(self):
        because = "A thread has not returned from /home/me/data.py, line 21."
        told = story(stalled("data", because=because))

        assert told.verdict.place == {"file": "/home/me/data.py", "line": 21}

    def test_the_evidence_has_the_usual_gap(self):
        texts = [one.text for one in story(stalled()).verdict.evidence]

        assert texts[0] == (
            "It was noticed after 9 seconds in which nothing went on; in this run it "
            "usually takes 120 ms."
        )
        assert "Its processes used 1% of a core in that time." in texts

    def test_before_the_first_step(self):
        told = story(stalled(step=0, usual_seconds=None))

        assert told.headline.endswith("(not even the first)")

    def test_nothing_but_the_fact(self):
        told = story(facts.Stalled(wall_time=1_010.0, step=5))

        assert told.state == "stuck"
        assert told.verdict.place == {}

    def test_a_stopped_process_can_be_let_go_on(self):
        assert story(stalled("stopped")).verdict.fixes[0].code == "kill -CONT 7"

    def test_a_second_stall(self):
        second = stalled(wall_time=2_010.0, since=2_000.0)

        assert story(stalled(), went_on(), second).state == "stuck"


class TestNotStuck:
    def test_it_went_on(self):
        assert story(stalled(), went_on()).state == "running"

    def test_it_went_on_and_nobody_said_so(self):
        assert story(stalled(), later(60, step=2_049)).state == "running"

    def test_it_finished(self):
        done = facts.TrainingEnded(
            wall_time=1_020.0, step=2_048, training=0, epochs_done=3
        )

        assert story(stalled(), done).state == "finished"

    def test_an_exception_ended_it(self):
        ended = facts.RunEnded(
            wall_time=1_020.0, step=2_048, reason="exception", exception="OSError"
        )

        assert story(stalled(), ended, life=GONE).verdict.id == "code_error"

    def test_a_crash_ended_it(self):
        told = story(stalled(), killed(signal.SIGSEGV), life=GONE)

        assert told.verdict.id == "native_crash"

    def test_it_was_killed_for_memory(self):
        told = story(stalled(), killed(signal.SIGKILL, cgroup_oom_kills=1), life=GONE)

        assert told.verdict.id == "host_oom"

    def test_it_was_killed_after_it_went_on(self):
        told = story(stalled(), went_on(), killed(signal.SIGKILL), life=GONE)

        assert told.verdict.id == "killed_outside"

    def test_nobody_saw_its_end(self):
        assert story(stalled(), life=GONE).verdict.id == "unknown"


class TestEndedWhileItHung:
    @pytest.mark.parametrize(
        ("number", "state", "words"),
        [
            (signal.SIGKILL, "died", "was killed"),
            (signal.SIGTERM, "ended_early", "was asked to stop"),
            (signal.SIGINT, "ended_early", "was stopped by Ctrl-C"),
        ],
    )
    def test_the_hang_is_the_cause(self, number: int, state: str, words: str):
        told = story(stalled("data"), killed(number), life=GONE)

        assert (told.state, told.verdict.id) == (state, "input_hang")
        assert told.chip == "Hung on data"
        assert told.headline == (
            f"Waited for data for 18 minutes at step 2,048, then {words}"
        )
        assert len(told.headline) <= 72
        assert signal.Signals(number).name in told.verdict.evidence[-1].text

    def test_what_is_not_sure_is_not_in_the_headline(self):
        told = story(stalled("unknown"), killed(signal.SIGKILL), life=GONE)

        assert told.headline.startswith("Stood still for 18 minutes")

    def test_the_epoch_of_it(self):
        ended = facts.EpochEnded(
            wall_time=500.0, step=2_000, training=0, epoch=3, last_step=2_000
        )

        told = story(ended, stalled("data"), killed(signal.SIGKILL), life=GONE)

        assert told.verdict.cause_at.epoch == 5

    def test_ctrl_c_that_python_saw(self):
        ended = facts.RunEnded(wall_time=1_020.0, step=2_048, reason="interrupted")

        told = story(stalled("callback"), ended, life=GONE)

        assert (told.state, told.verdict.id) == ("ended_early", "callback_hang")


DEADLOCK = (
    "Thread 0x00007f01 (most recent call first):\n"
    '  File "/home/me/data.py", line 27 in feed\n'
    '  File "/v/lib/python3.11/site-packages/tensorflow/python/ops/script_ops.py", '
    "line 1 in __call__\n\n"
    "Current thread 0x00007f02 (most recent call first):\n"
    '  File "/home/me/train.py", line 40 in on_train_batch_end\n'
    '  File "/v/lib/python3.11/site-packages/keras/src/trainer.py", line 9 in fit\n'
)


class TestALookAround:
    def test_a_callback_and_a_generator_that_wait_for_each_other(self):
        told = story(stalled("callback", stacks=DEADLOCK))

        assert (told.verdict.id, told.verdict.detail) == ("input_hang", "deadlock")
        texts = [one.text for one in told.verdict.evidence]
        assert (
            "A thread that makes batches stood at /home/me/data.py, line 27." in texts
        )

    def test_a_generator_that_works_is_no_deadlock(self):
        told = story(stalled("callback", stacks=DEADLOCK, cpu_fraction=0.9))

        assert told.verdict.id == "callback_hang"

    def test_a_callback_that_waits_for_a_server_is_no_deadlock(self):
        waits = DEADLOCK.replace(
            "Current thread 0x00007f02 (most recent call first):\n",
            "Current thread 0x00007f02 (most recent call first):\n"
            '  File "/usr/lib/python3.11/socket.py", line 706 in readinto\n',
        )

        assert story(stalled("callback", stacks=waits)).verdict.id == "callback_hang"

    def test_a_worker_that_died(self):
        dead = facts.ChildEnded(wall_time=999.0, pid=9, name="python", signal=9)

        told = story(dead, stalled("data"))

        assert (told.verdict.id, told.verdict.detail) == ("input_hang", "dead_worker")
        assert "died of SIGKILL" in told.verdict.evidence[-1].text

    def test_a_worker_that_died_long_before(self):
        dead = facts.ChildEnded(wall_time=500.0, pid=9, name="python", signal=9)

        assert story(dead, stalled("data")).verdict.detail == "data"

    def test_the_line_that_should_have_made_the_batch(self):
        told = story(
            stalled("data", stacks=DEADLOCK.replace("on_train_batch_end", "f"))
        )

        assert told.verdict.place == {"file": "/home/me/data.py", "line": 27}

    @pytest.mark.parametrize(
        ("cpu", "verdict"), [(0.02, "peer_lost"), (0.6, "compute_hang")]
    )
    def test_one_of_several_workers(self, cpu: float, verdict: str):
        attempt = Attempt("a")
        attempt.add(
            facts.RunStarted(
                wall_time=1.0,
                pid=7,
                settings={"env.TF_CONFIG": "task worker 1, cluster worker 3"},
            )
        )
        attempt.add(facts.TrainingStarted(wall_time=2.0, training=0))
        attempt.add(stalled("unknown", cpu_fraction=cpu))

        told = tell(attempt, ALIVE)

        assert (told.verdict.id, told.verdict.confidence) == (verdict, "possible")

    def test_a_lock_that_a_callback_waits_for(self):
        stacks = DEADLOCK.split("\n\n")[1]

        assert story(stalled("lock", stacks=stacks)).verdict.id == "callback_hang"

    def test_an_interrupted_cell_of_a_notebook_is_not_stuck_any_more(self):
        left = facts.TrainingEnded(
            wall_time=1_020.0,
            step=2_048,
            training=0,
            reason="raised",
            exception="KeyboardInterrupt",
        )

        told = story(stalled("data"), left)

        assert (told.state, told.verdict.id) == ("ended_early", "input_hang")


class TestPythonInsideTheStep:
    """TensorFlow calls Python of a model and of a data pipeline in the same way."""

    STACKS = (
        "Python stacks of process 7, which trains\n\n"
        "Thread 0x00007f01 (most recent call first):\n"
        '  File "/home/me/loss.py", line 21 in matched\n'
        '  File "/venv/lib/python3.11/site-packages/tensorflow/python/ops/script_ops.py'
        '", line 269 in __call__\n\n'
        "Current thread 0x00007f02 (most recent call first):\n"
        '  File "/venv/lib/python3.11/site-packages/tensorflow/python/eager/execute.py"'
        ", line 53 in quick_execute\n"
        '  File "/venv/lib/python3.11/site-packages/keras/src/backend/tensorflow/'
        'trainer.py", line 399 in fit\n'
        '  File "/home/me/train.py", line 60 in <module>\n'
    )
    SAYS = "The step waits in native code, and a thread that makes batches stands."

    def told(self, kind: str, **more) -> Story:
        attempt = Attempt("a")
        attempt.add(facts.RunStarted(wall_time=1.0, pid=7))
        settings = {"data.kind": kind}
        attempt.add(facts.TrainingStarted(wall_time=2.0, training=0, settings=settings))
        fields = {"stacks": self.STACKS, "because": self.SAYS, **more}
        attempt.add(stalled("data", **fields))
        return tell(attempt, ALIVE)

    def test_arrays_need_no_python_to_make_a_batch(self):
        verdict = self.told("arrays").verdict

        assert (verdict.id, verdict.detail) == ("compute_hang", "python_in_step")
        assert verdict.place == {"file": "/home/me/loss.py", "line": 21}
        assert "matched()" in verdict.because
        assert all(one.text != self.SAYS for one in verdict.evidence)

    @pytest.mark.parametrize("kind", ["tf.data", "generator", "PyDataset"])
    def test_other_data_may_need_it(self, kind: str):
        assert self.told(kind).verdict.id == "input_hang"

    def test_validation_may_have_other_data(self):
        assert self.told("arrays", phase="validation").verdict.id == "input_hang"


def test_nobody_is_told_to_wake_a_process_that_is_gone():
    alive = story(stalled("stopped"))
    dead = story(stalled("stopped"), killed(signal.SIGKILL), life=GONE)

    assert alive.verdict.fixes[0].code == "kill -CONT 7"
    assert dead.verdict.id == "stopped_process"
    assert "kill" not in (dead.verdict.fixes[0].code or "kill")
    assert dead.verdict.fixes[0].code.startswith("setsid nohup python train.py")


class TestBeforeATraining:
    def tell(self, *told: facts.Fact, life: Life = ALIVE) -> Story:
        attempt = Attempt("a")
        attempt.add(facts.RunStarted(wall_time=1.0, pid=7))
        for fact in told:
            attempt.add(fact)
        return tell(attempt, life)

    def before(self, waits_for: str) -> facts.Stalled:
        return stalled(waits_for, step=0, phase="not_training", usual_seconds=None)

    def test_it_stands_still(self):
        told = self.tell(self.before("data"), later(300, step=0))

        assert (told.state, told.severity) == ("stuck", "critical")
        assert told.headline == "No training has begun: stands still for 5 minutes"

    def test_what_it_waits_for_is_not_known(self):
        told = self.tell(self.before("unknown"), later(300, step=0))

        assert (told.state, told.severity) == ("stuck", "warning")
        assert told.verdict.confidence == "possible"

    def test_then_it_was_killed(self):
        end = killed(signal.SIGKILL, step=0)
        told = self.tell(self.before("lock"), end, life=GONE)

        assert told.verdict.id == "compute_hang"
        assert told.headline == (
            "Stood still for 18 minutes before the training began, then was killed"
        )

    def test_then_it_trained(self):
        over = facts.StallEnded(wall_time=1_043.0, step=0, since=1_000.0)
        told = self.tell(
            self.before("lock"),
            over,
            facts.TrainingStarted(wall_time=1_044.0, training=0, planned_epochs=3),
        )

        assert told.state == "running"


def test_the_callback_is_named():
    stacks = (
        "Current thread 0x1 (most recent call first):\n"
        '  File "/home/me/train.py", line 35 in on_epoch_end\n'
    )
    attempt = Attempt("a")
    attempt.add(facts.RunStarted(wall_time=1.0, pid=7))
    attempt.add(
        facts.TrainingStarted(
            wall_time=2.0,
            training=0,
            settings={"callbacks.lines": "Upload train.py:30-40"},
        )
    )
    attempt.add(stalled("callback", stacks=stacks))
    verdict = tell(attempt, ALIVE).verdict

    assert verdict.place["callback"] == "Upload"
