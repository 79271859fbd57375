"""Pages of the verdicts that no rule of its own finds: ends, hangs and exceptions."""

from collections.abc import Mapping

ENDINGS: Mapping[str, str] = {
    "alloc_failure": """
The program asked for memory that it did not get, and said so.

**What it means.** One allocation was refused: a tensor, an array or a thread was larger
than what was free. Nothing was killed; the request itself failed.

**How we know.** The exception says how much was asked for, or the last words of native
code do. What was free is measured each second.

**What it is mistaken for.** A kill by the kernel (`host_oom`): there the process ends
without a word. A leak (`memory_leak`): there the last request is small.

**What to do.** Make what was asked for smaller: the batch, one tensor, the buffer of a
shuffle. The advice names the one that did not fit.
""",
    "killed_outside": """
Somebody or something ended the process, and memory was not the reason.

**What it means.** SIGKILL or SIGHUP came from outside: a person, a time limit, a
container that went away, a terminal that was closed. The program did not decide it.

**How we know.** The watcher saw which signal ended the process. The kernel's counters
say that no process was killed for memory in those seconds.

**What it is mistaken for.** A kill for memory (`host_oom`), which looks the same from
inside. Without a watcher the two cannot be told apart.

**What to do.** Ask the scheduler or the container what it did at that time. Save often
enough that it does not matter.
""",
    "preempted": """
It was asked to stop (SIGTERM), and it did.

**What it means.** A scheduler, a container or a person wanted the process to end. On
machines that can be taken away at any time this is normal.

**How we know.** The watcher saw the signal, or Python's own handler did. Where a
scheduler left its name in the environment it is named.

**What it is mistaken for.** A crash. Nothing is wrong with the training.

**What to do.** Save now and then, and go on from there:
`keras.callbacks.BackupAndRestore` does both.
""",
    "user_interrupt": """
Somebody pressed Ctrl-C, or stopped the cell of a notebook.

**What it means.** A person ended it by hand.

**How we know.** KeyboardInterrupt left the training.

**What it is mistaken for.** SIGTERM by a scheduler (`preempted`).

**What to do.** Nothing, if you meant it. Weights since the last save are gone.
""",
    "machine_lost": """
The machine itself went down while the training ran.

**What it means.** It was started again, lost its power or froze. Everything on it
ended.

**How we know.** The record ends without a word, and the machine of the same name has
another boot id since, started shortly after.

**What it is mistaken for.** A kill (`killed_outside`): then the machine goes on.

**What to do.** Look at the machine's own log of that time. Save to a disk that outlives
it.
""",
    "explicit_exit": """
The program ended itself in the middle of a training.

**What it means.** `sys.exit()`, `exit()` or `os._exit()` was called while `fit` was
under way.

**How we know.** SystemExit left the training, with the line it came from; or the
process exited and Python's exit handlers did not run, which only `os._exit()` does.

**What it is mistaken for.** A crash in native code (`native_crash`): that ends by a
signal.

**What to do.** Look at the line that is named. Return from the training instead, or
stop it with `model.stop_training = True`.
""",
    "code_error": """
The program raised an exception that has no better name here.

**What it means.** A mistake in the program, or in what it was given, that is none of
the causes we know by name.

**How we know.** The exception itself, with the line of your own code nearest to it.

**What it is mistaken for.** Nothing: it is what was raised. Its cause may lie earlier.

**What to do.** Read the last line of the traceback, then the line of your own code.
""",
    "native_crash": """
Native code crashed: below Python, in a library.

**What it means.** A segmentation fault, an abort or another fault ended the process at
once. TensorFlow, NumPy, a data library or a driver was at work.

**How we know.** The watcher saw the signal. Python's fault handler wrote the stacks of
all threads down in the same moment.

**What it is mistaken for.** A kill from outside: other signals do that. A lack of
memory that a library answers by aborting is told as `alloc_failure`.

**What to do.** The stack names the call. Try it alone, with one thread, and with
another version of that library.
""",
    "input_error": """
The data pipeline raised an exception.

**What it means.** Reading or preparing a batch failed: a damaged file, a record that
does not parse, a Python function of the pipeline.

**How we know.** The exception passed the place where batches are fetched, or TensorFlow
says that the iterator raised it.

**What it is mistaken for.** A mistake in the model: then the step raises, not the data.

**What to do.** The file or function is named where known. Leave bad records out
knowingly (`dataset.ignore_errors()`), and count them.
""",
    "input_hang": """
It waits for data that does not come.

**What it means.** The next batch is not there, and nobody is making it: a deadlock, a
worker that died, a source that does not answer.

**How we know.** No step ended for far longer than usual; the stacks show that the
training waits for a batch, and its processes do nothing.

**What it is mistaken for.** Slow data (`input_bound`): then batches still come.

**What to do.** The stacks name the line that waits. Look there for a lock, a queue or a
process that is gone.
""",
    "callback_hang": """
It is stuck inside a callback.

**What it means.** A callback was called and does not return.

**How we know.** No step ended for far longer than usual, and the stacks end in that
callback.

**What it is mistaken for.** A slow save: that goes on writing, and is not told.

**What to do.** Look at the line that is named: a lock, a network call without a time
limit.
""",
    "compute_hang": """
One step does not end.

**What it means.** The step itself is busy, or blocked, for ever.

**How we know.** No step ended for far longer than usual, and the stacks show neither
data nor a callback.

**What it is mistaken for.** Compiling, which may take minutes and is waited for.

**What to do.** The stacks name where. A loop in the model, a collective operation that
others left, or a driver are the usual reasons.
""",
    "endless_epoch": """
An epoch, or a validation, cannot end.

**What it means.** The data repeats for ever and nobody said how many steps make an
epoch.

**How we know.** Far more batches were taken than an epoch had before, or than the data
holds, and nothing would stop it.

**What it is mistaken for.** A long epoch: where its length is known it is waited for.

**What to do.** Give `steps_per_epoch` or `validation_steps`, or take `repeat()` away.
""",
    "stopped_process": """
The process is suspended.

**What it means.** SIGSTOP, Ctrl-Z or a debugger holds it. It does nothing until
somebody lets it go on.

**How we know.** The kernel says so.

**What it is mistaken for.** A hang. Nothing is stuck here.

**What to do.** `kill -CONT` with the process id, or `fg` in its terminal.
""",
    "peer_lost": """
Another worker is gone, and this one cannot go on without it.

**What it means.** Workers of one training wait for each other at every step.

**How we know.** The exception or the stacks name the worker, or a collective operation
that nobody else joined.

**What it is mistaken for.** A fault of this worker. The cause is in the other one's
record.

**What to do.** Look at the worker that is named, first.
""",
    "healthy": """
Nothing is wrong, as far as was measured.

**What it means.** It finished as planned, or it was stopped as its author wanted.

**How we know.** No rule found anything that needs somebody. What nobody measured is
listed beside it.

**What it is mistaken for.** Proof. It says that we looked and saw nothing.

**What to do.** Nothing.
""",
    "too_short": """
It was too short to judge.

**What it means.** So few steps were made that nothing can be said of learning or speed.

**How we know.** The steps were counted.

**What it is mistaken for.** `healthy`.

**What to do.** Train longer, and ask again.
""",
    "unknown": """
It ended, and what was recorded does not say why.

**What it means.** A kill, a crash and a lost machine all look like this when nobody
watched.

**How we know.** The record has no end, and the process is gone.

**What it is mistaken for.** A cause. It is none.

**What to do.** Let the watcher run (it is on by default), and start the program with
`tb-health run` where you can.
""",
}
