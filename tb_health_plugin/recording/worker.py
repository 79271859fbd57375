"""Which of several workers this process is, as whoever started it says.

Nothing is asked for: launchers tell each process its place in its environment. Only
names, numbers and a fingerprint are kept; addresses are not.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Environment = Mapping[str, str]

# Enough to tell clusters apart, too little to tell anything about them.
_FINGERPRINT_LETTERS = 12


@dataclass(frozen=True, slots=True)
class _Launcher:
    """How a launcher tells a process its place.

    Attributes:
        by: Its name.
        rank: Variable with the number of the process.
        size: Variable with the number of processes; empty if it tells none.
        job: Variables that are the same in all processes of one start.
        marks: Variables of which one must be there, too; a part of a name, at its
            beginning.
    """

    by: str
    rank: str
    size: str
    job: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()


_RENDEZVOUS = ("MASTER_ADDR", "MASTER_PORT")
# The surest first: Slurm also starts processes that know nothing of each other.
_LAUNCHERS = (
    _Launcher(
        "Horovod",
        "HOROVOD_RANK",
        "HOROVOD_SIZE",
        ("HOROVOD_GLOO_RENDEZVOUS_ADDR", "HOROVOD_GLOO_RENDEZVOUS_PORT"),
    ),
    _Launcher(
        "torchrun",
        "RANK",
        "WORLD_SIZE",
        ("TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", *_RENDEZVOUS),
        ("TORCHELASTIC_RUN_ID",),
    ),
    _Launcher(
        "Ray Train", "RANK", "WORLD_SIZE", ("RAY_JOB_ID", *_RENDEZVOUS), ("RAY_",)
    ),
    _Launcher("Kubeflow", "RANK", "WORLD_SIZE", _RENDEZVOUS, ("KUBERNETES_",)),
    _Launcher("RANK", "RANK", "WORLD_SIZE", _RENDEZVOUS),
    _Launcher(
        "Open MPI",
        "OMPI_COMM_WORLD_RANK",
        "OMPI_COMM_WORLD_SIZE",
        ("PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"),
    ),
    _Launcher("MPI", "PMI_RANK", "PMI_SIZE", ("PMI_JOBID",)),
    _Launcher("MPI", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"),
    _Launcher(
        "Slurm",
        "SLURM_PROCID",
        "SLURM_NTASKS",
        ("SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT"),
    ),
    _Launcher("Kubernetes", "JOB_COMPLETION_INDEX", ""),
)


def worker_settings(environment: Environment) -> dict[str, str]:
    """As settings of `facts.RunStarted`: `worker.*`; empty if it is alone."""
    found = _from_tf_config(environment.get("TF_CONFIG", ""))
    if found is None:
        found = next(_from_launchers(environment), None)
    return {f"worker.{name}": text for name, text in (found or {}).items() if text}


def team_size(environment: Environment) -> int:
    """How many processes train together; 1 if it is alone or nobody says."""
    return int(worker_settings(environment).get("worker.size", "1"))


def _from_tf_config(text: str) -> dict[str, str] | None:
    try:
        config: Any = json.loads(text) if text else {}
        cluster = {
            str(role): list(config["cluster"][role]) for role in config["cluster"]
        }
        role, rank = str(config["task"]["type"]), int(config["task"]["index"])
    except (ValueError, TypeError, KeyError, AttributeError):
        # None, or not what TensorFlow reads: it will say so itself.
        return None
    size = sum(len(tasks) for tasks in cluster.values())
    if size < 2:
        return None
    return {
        "by": "TF_CONFIG",
        "role": role,
        "rank": str(rank),
        "size": str(size),
        "job": _fingerprint(json.dumps(cluster, sort_keys=True)),
    }


def _from_launchers(environment: Environment) -> Iterator[dict[str, str]]:
    for launcher in _LAUNCHERS:
        rank, size = environment.get(launcher.rank, ""), environment.get(launcher.size)
        is_told = rank.isdecimal() and (size is None or size.isdecimal())
        marked = not launcher.marks or any(
            name.startswith(launcher.marks) for name in environment
        )
        if not is_told or not marked or (launcher.size and int(size or 0) < 2):
            continue
        shared = [environment[name] for name in launcher.job if name in environment]
        yield {
            "by": launcher.by,
            "role": "worker",
            "rank": rank,
            "size": size or "",
            "job": _fingerprint(json.dumps(shared)) if shared else "",
        }


def _fingerprint(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_FINGERPRINT_LETTERS]
