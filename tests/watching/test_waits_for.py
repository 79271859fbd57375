"""What a stack says, and what it must not be taken to say."""

import pytest

from tb_health_plugin.watching.stall import ENDLESS_SECONDS, Stall
from tb_health_plugin.watching.waits_for import BUSY_SECONDS, Scene, explain
from tb_health_plugin.writing.phases import Phase

PACKAGES = "/venv/lib/python3.11/site-packages"
STDLIB = "/usr/lib/python3.11"
FIT = (
    (f"{PACKAGES}/keras/src/utils/traceback_utils.py", 117, "error_handler"),
    ("/home/me/train.py", 80, "<module>"),
)
IN_FIT = ((f"{PACKAGES}/keras/src/backend/tensorflow/trainer.py", 377, "fit"), *FIT)
NATIVE = (
    (f"{PACKAGES}/tensorflow/python/eager/execute.py", 53, "quick_execute"),
    (f"{PACKAGES}/tensorflow/python/eager/context.py", 1500, "call_function"),
    (
        f"{PACKAGES}/tensorflow/python/eager/polymorphic_function/atomic_function.py",
        251,
        "call_preflattened",
    ),
    (
        f"{PACKAGES}/tensorflow/python/eager/polymorphic_function/"
        "tracing_compilation.py",
        139,
        "call_function",
    ),
)
TRACING = (
    ("/home/me/model.py", 31, "call"),
    (f"{PACKAGES}/tensorflow/python/autograph/impl/api.py", 377, "converted_call"),
    (f"{PACKAGES}/tensorflow/python/framework/func_graph.py", 1059, "func_graph_from"),
    (
        f"{PACKAGES}/tensorflow/python/eager/polymorphic_function/"
        "tracing_compilation.py",
        156,
        "trace_function",
    ),
)
CALLBACK = (
    ("/home/me/upload.py", 12, "on_train_batch_end"),
    (
        f"{PACKAGES}/keras/src/callbacks/callback_list.py",
        172,
        "on_train_batch_end",
    ),
)
EPOCH_END = (
    (f"{PACKAGES}/numpy/linalg/_linalg.py", 1700, "svd"),
    ("/home/me/fid.py", 44, "on_epoch_end"),
    (f"{PACKAGES}/keras/src/callbacks/callback_list.py", 190, "on_epoch_end"),
)
SAVING = (
    (f"{PACKAGES}/tensorflow/python/checkpoint/checkpoint.py", 1307, "save"),
    (f"{PACKAGES}/keras/src/callbacks/model_checkpoint.py", 290, "_save_model"),
    (f"{PACKAGES}/keras/src/callbacks/callback_list.py", 172, "on_train_batch_end"),
)
QUEUE = (
    (f"{STDLIB}/threading.py", 320, "wait"),
    (f"{STDLIB}/queue.py", 171, "get"),
    ("/home/me/loader.py", 9, "batches"),
)
ITERATOR = (
    (
        f"{PACKAGES}/tensorflow/python/data/ops/iterator_ops.py",
        773,
        "_next_internal",
    ),
    (f"{PACKAGES}/keras/src/trainers/epoch_iterator.py", 117, "_enumerate_iterator"),
)
CONDITION = (
    (f"{STDLIB}/threading.py", 320, "wait"),
    ("/home/me/train.py", 60, "take_turns"),
)
BARRIER = (
    (f"{PACKAGES}/horovod/tensorflow/mpi_ops.py", 120, "_allreduce"),
    ("/home/me/train.py", 61, "step"),
)
OWN_LOOP = (("/home/me/train.py", 33, "step"),)
PRODUCER = (
    ("/home/me/data.py", 21, "generate"),
    (
        f"{PACKAGES}/tensorflow/python/data/ops/from_generator_op.py",
        198,
        "generator_py_func",
    ),
    (f"{PACKAGES}/tensorflow/python/ops/script_ops.py", 147, "__call__"),
)


def stacks(*frames, others=()) -> str:
    def thread(head: str, those) -> str:
        lines = [
            f'  File "{file}", line {line} in {name}' for file, line, name in those
        ]
        return f"{head} (most recent call first):\n" + "\n".join(lines) + "\n"

    rest = [thread(f"Thread 0x00007f{n:010x}", other) for n, other in enumerate(others)]
    return "\n".join([*rest, thread("Current thread 0x00007f0c0a828b80", frames)])


def stall(**more) -> Stall:
    fields = {
        "since": 100.0,
        "silent_seconds": 9.0,
        "usual_seconds": 0.1,
        "phase": Phase.TRAINING,
        "cpu_fraction": 0.0,
        "works": False,
    }
    return Stall(**{**fields, **more})


IDLE = stall()
BUSY = stall(cpu_fraction=1.0, works=True)
WRITES = stall(cpu_fraction=0.1, works=True)


@pytest.mark.parametrize(
    ("seen", "frames", "expected"),
    [
        (IDLE, (*CALLBACK, *IN_FIT), "callback"),
        (IDLE, (*QUEUE, *IN_FIT), "data"),
        (IDLE, (*ITERATOR, *IN_FIT), "data"),
        (IDLE, (*CONDITION, *IN_FIT), "lock"),
        (IDLE, BARRIER, "peer"),
        (BUSY, OWN_LOOP, "busy"),
        (BUSY, (*NATIVE, *IN_FIT), "busy"),
        (IDLE, (*NATIVE, *IN_FIT), "unknown"),
        (IDLE, OWN_LOOP, "unknown"),
        (IDLE, (*TRACING, *IN_FIT), "compile"),
        # It is the callback that does not return, whatever it waits for.
        (IDLE, (*QUEUE[:2], *CALLBACK, *IN_FIT), "callback"),
        (IDLE, (*CONDITION[:1], *CALLBACK, *IN_FIT), "callback"),
    ],
)
def test_stacks(seen: Stall, frames, expected: str):
    assert explain(seen, Scene(state="S", stacks=stacks(*frames))).waits_for == expected


def test_the_line_of_the_user_is_named():
    found = explain(IDLE, Scene(state="S", stacks=stacks(*QUEUE, *IN_FIT)))

    assert "/home/me/loader.py, line 9" in found.because


@pytest.mark.parametrize(
    ("code", "wchan", "expected"),
    [
        ("        with self._lock:", "", "lock"),
        ("    done.acquire()", "", "lock"),
        ("    worker.join()", "", "lock"),
        ("    batch = channel.recv()", "", "data"),
        ("    batch = next(batches)", "", "data"),
        ("    native.run(model)", "futex_do_wait", "lock"),
        ("    native.run(model)", "hrtimer_nanosleep", "unknown"),
        ("    x = blocked + unlocked", "", "unknown"),
        ("", "", "unknown"),
    ],
)
def test_a_line_that_leaves_no_frame(code: str, wchan: str, expected: str):
    scene = Scene(state="S", stacks=stacks(*OWN_LOOP), code=code, wchan=wchan)

    assert explain(IDLE, scene).waits_for == expected


def test_waiting_in_native_code_of_tensorflow_is_not_taken_for_a_lock():
    scene = Scene(state="S", stacks=stacks(*NATIVE, *IN_FIT), wchan="futex_do_wait")

    assert explain(IDLE, scene).waits_for == "unknown"


def test_a_thread_that_makes_batches_and_does_not_return():
    text = stacks(*NATIVE, *IN_FIT, others=[PRODUCER])

    found = explain(IDLE, Scene(state="S", stacks=text))

    assert found.waits_for == "data"
    assert "/home/me/data.py, line 21" in found.because


def test_fit_in_a_thread_is_found_behind_the_main_thread():
    main = ((f"{STDLIB}/selectors.py", 468, "select"),)
    text = stacks(*main, others=[(*QUEUE, *IN_FIT)])

    assert explain(IDLE, Scene(state="S", stacks=text)).waits_for == "data"


class TestWhatTheKernelSays:
    def test_stopped_by_a_signal(self):
        found = explain(IDLE, Scene(state="T"))

        assert found.waits_for == "stopped"
        assert "SIGSTOP" in found.because

    def test_held_by_a_debugger(self):
        found = explain(IDLE, Scene(state="t", tracer=77))

        assert found.waits_for == "stopped"
        assert "process 77" in found.because

    def test_a_device(self):
        assert explain(IDLE, Scene(state="D")).waits_for == "disk"

    def test_nothing_but_silence(self):
        found = explain(IDLE, Scene(state="S"))

        assert found.waits_for == "unknown"
        assert "could not be had" in found.because

    def test_a_first_step_that_computes(self):
        seen = stall(phase=Phase.STARTING, cpu_fraction=1.0, works=True)

        found = explain(seen, Scene(state="R"))

        assert (found.waits_for, found.is_slow) == ("compile", True)

    @pytest.mark.parametrize(
        ("computes", "expected"), [(True, "busy"), (False, "unknown")]
    )
    def test_a_core_that_it_shares_with_others(self, computes: bool, expected: str):
        seen = stall(cpu_fraction=0.3)
        scene = Scene(state="R", stacks=stacks(*OWN_LOOP), computes=computes)

        assert explain(seen, scene).waits_for == expected


BEFORE = stall(phase=Phase.NOT_TRAINING, usual_seconds=None)


class TestBeforeATraining:
    @pytest.mark.parametrize(
        ("frames", "code"),
        [
            ((("/home/me/train.py", 3, "<module>"),), 'name = input("Which run? ")'),
            ((("/usr/lib/python3.11/pdb.py", 360, "interaction"), *FIT), ""),
            ((("/usr/lib/python3.11/asyncio/base_events.py", 1_922, "_run"),), ""),
        ],
    )
    def test_who_waits_for_people_or_requests_means_to(self, frames, code: str):
        assert explain(BEFORE, Scene(stacks=stacks(*frames), code=code)).is_slow

    @pytest.mark.parametrize(
        ("frames", "code", "expected"),
        [
            (QUEUE, "", "data"),
            (OWN_LOOP, "    time.sleep(60)", "unknown"),
            (((f"{PACKAGES}/tensorflow/x/cross_device_ops.py", 1, "f"),), "", "peer"),
        ],
    )
    def test_anybody_else_does_not(self, frames, code: str, expected: str):
        found = explain(BEFORE, Scene(stacks=stacks(*frames), code=code))

        assert (found.waits_for, found.is_slow) == (expected, False)


class TestOnlySlow:
    @pytest.mark.parametrize(
        ("seen", "frames"),
        [
            (BUSY, (*TRACING, *IN_FIT)),
            (stall(cpu_fraction=1.0, works=True, silent_seconds=900.0), TRACING),
            (WRITES, (*SAVING, *IN_FIT)),
            (stall(works=True, silent_seconds=900.0), (*SAVING, *IN_FIT)),
            (BUSY, (*EPOCH_END, *IN_FIT)),
            # XLA compiles for another shape, and Python does not say so.
            (BUSY, (*NATIVE, *IN_FIT)),
            # Workers compute the batch that is waited for.
            (BUSY, (*QUEUE, *IN_FIT)),
            (BUSY, ()),
        ],
    )
    def test_it_works_at_what_may_take_long(self, seen: Stall, frames):
        assert explain(seen, Scene(state="S", stacks=stacks(*frames))).is_slow

    @pytest.mark.parametrize(
        ("seen", "frames"),
        [
            (IDLE, (*TRACING, *IN_FIT)),
            (IDLE, (*SAVING, *IN_FIT)),
            (IDLE, (*EPOCH_END, *IN_FIT)),
            (BUSY, OWN_LOOP),
            (BUSY, (*CALLBACK, *IN_FIT)),
            (
                stall(cpu_fraction=1.0, works=True, silent_seconds=BUSY_SECONDS + 1),
                (*NATIVE, *IN_FIT),
            ),
            (
                stall(cpu_fraction=1.0, works=True, silent_seconds=ENDLESS_SECONDS),
                (*EPOCH_END, *IN_FIT),
            ),
        ],
    )
    def test_it_is_more_than_slow(self, seen: Stall, frames):
        assert not explain(seen, Scene(state="S", stacks=stacks(*frames))).is_slow

    def test_it_works_on_a_crowded_machine(self):
        scene = Scene(state="R", stacks=stacks(*TRACING, *IN_FIT), computes=True)

        assert explain(stall(cpu_fraction=0.3), scene).is_slow

    def test_a_stopped_process_is_not_slow(self):
        assert not explain(BUSY, Scene(state="T")).is_slow
