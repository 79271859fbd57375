"""What is said of a training that stands still, by what it waits for."""

from tb_health_plugin.diagnosis.verdict import Fix

# The verdict in a few words, for the list of runs.
CHIPS = {
    "compute_hang": "Hung",
    "input_hang": "Hung on data",
    "callback_hang": "Hung in callback",
    "peer_lost": "Worker lost",
    "stopped_process": "Was stopped",
}

# What to do first, by what it waits for, if its stacks were seen.
FIXES = {
    "data": Fix(
        title="Find what should make the next batch",
        why="The loop waits for data. The stacks, in the tab or by tb-health show, are "
        "those of the threads and processes that make it.",
    ),
    "callback": Fix(
        title="Give what the callback waits for a time limit",
        why="fit() goes on only when every callback has returned, and this one has "
        "not. With a limit it raises, and says where.",
    ),
    "lock": Fix(
        title="Take locks with a time limit, and always in the same order",
        why="The thread that trains waits for a lock. The stacks, in the tab or by "
        "tb-health show, tell who may hold it.",
        code="lock.acquire(timeout=60)",
    ),
    "disk": Fix(
        title="Look at the disk or network file system",
        why="The kernel itself waits for it. Until it answers, not even SIGKILL ends "
        "the process.",
        code="sudo dmesg -T | grep -iE 'not responding|blocked for more|I/O error'",
    ),
    "peer": Fix(
        title="Look at the other workers",
        why="A step with others ends when all have come. One that is gone holds all.",
    ),
    "busy": Fix(
        title="Look for a loop that does not end",
        why="It computes and finishes nothing. The stack below shows the line.",
    ),
    "call": Fix(
        title="Give what this function waits for a time limit",
        why="The step goes on only when it has returned. With a limit it raises, and "
        "says where.",
    ),
    "unknown": Fix(
        title="Install py-spy where it trains, to see native frames",
        why="The Python stack alone does not say what it waits for.",
        code="pip install py-spy",
    ),
}

# The same by verdict, if nobody looked at its stacks.
FIXES_UNSEEN = {
    "compute_hang": Fix(
        title="Look for a loop inside the step that may not end",
        why="It computed and finished no step.",
        code="tf.while_loop(..., maximum_iterations=1000)",
    ),
    "input_hang": Fix(
        title="Find what should have made the next batch",
        why="Nothing was computed: what makes batches may wait for something.",
    ),
    "peer_lost": FIXES["peer"],
    "callback_hang": Fix(
        title="Give what callbacks wait for a time limit",
        why="fit() goes on only when every callback has returned. First among them, "
        "this one ends the program, with all stacks, if the others take too long.",
    ),
}
