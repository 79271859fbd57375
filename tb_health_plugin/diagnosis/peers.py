"""Which of several workers a process is, and whether they go in step."""

from tb_health_plugin.events import facts
from tb_health_plugin.reading.run_history import Attempt
from tb_health_plugin.reading.workers import worker_of

# Names of strategies that join all workers in every step: TensorFlow has its own name
# for MultiWorkerMirroredStrategy.
_JOINING = ("MultiWorker", "CollectiveAllReduce")
# Launchers of programs that do.
_IN_STEP = ("Horovod", "torchrun", "Ray Train", "Kubeflow")


def own_task(attempt: Attempt) -> str | None:
    """As in "worker 0"; None if the process is not one of several."""
    worker = worker_of(attempt)
    return worker.name if worker and worker.size > 1 else None


def serves(attempt: Attempt) -> bool:
    """It trains nothing itself: a parameter server, or a worker that one task leads.

    Such a process waits for others by design, until somebody ends it.
    """
    worker = worker_of(attempt)
    if worker is None or attempt.last(facts.TrainingStarted) is not None:
        return False
    told = attempt.start.settings.get("env.TF_CONFIG", "") if attempt.start else ""
    return worker.role == "ps" or (worker.role == "worker" and ", ps " in told)


def tasks(attempt: Attempt) -> int:
    """How many processes train together; 0 if it is alone."""
    worker = worker_of(attempt)
    return worker.size if worker else 0


def goes_in_step(attempt: Attempt) -> bool:
    """Every step waits for all workers, as far as the record tells."""
    begun = attempt.last(facts.TrainingStarted)
    strategy = (begun.settings.get("strategy") or "") if begun else ""
    if strategy:
        return any(name in strategy for name in _JOINING)
    worker = worker_of(attempt)
    if worker is None:
        return False
    # Without a word of the strategy: one with parameter servers does not wait.
    told = attempt.start.settings.get("env.TF_CONFIG", "") if attempt.start else ""
    return worker.by in _IN_STEP or (worker.by == "TF_CONFIG" and ", ps " not in told)
