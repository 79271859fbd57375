"""Lines for whoever lends the machine to a run: asking for more, or for their log."""

import math
import re
import shlex

from tb_health_plugin.diagnosis import own_code
from tb_health_plugin.reading.run_history import Attempt

_GIB = 1 << 30
# What Docker calls the host of a container that nobody named: the container's own id.
_CONTAINER_ID = re.compile(r"[0-9a-f]{12}")
# What Slurm knows of a job: enough to tell a limit from a cancellation.
_FIELDS = "JobID,State,ExitCode,Elapsed,Timelimit,ReqMem,MaxRSS"
# As much as most programs ever need, and no trouble to a kernel.
_MANY = {"files": 65_536, "threads": 16_384, "processes": 16_384}


def scheduler(attempt: Attempt) -> str | None:
    """Who had started the process, as far as its environment tells."""
    settings = attempt.start.settings if attempt.start else {}
    if any(name.startswith("env.SLURM_") for name in settings):
        return "Slurm"
    return "Kubernetes" if "env.KUBERNETES" in settings else None


def log(attempt: Attempt, when: float) -> str:
    """What shows who ended it, as those see it who run the container or the job."""
    job, host = _job(attempt), _host(attempt)
    if job:
        return f"sacct -j {job} --format={_FIELDS}"
    if host and scheduler(attempt) == "Kubernetes":
        return f"kubectl describe pod {host}"
    if _CONTAINER_ID.fullmatch(host):
        return f"docker inspect --format '{{{{json .State}}}}' {host}"
    return machine_log(when)


def machine_log(when: float) -> str:
    """What shows the machine's own log of the minute before."""
    return f"journalctl --since @{when - 60:.0f} --until @{when + 5:.0f}"


def log_elsewhere(attempt: Attempt, when: float) -> str:
    """The same of another worker, whose machine may be another one."""
    if scheduler(attempt):
        return others(attempt)
    return f"{machine_log(when)}  # on its machine"


def others(attempt: Attempt) -> str:
    """What shows how the other workers of the same training are."""
    job = _job(attempt)
    if job:
        return f"sacct -j {job} --format={_FIELDS}"
    if scheduler(attempt) == "Kubernetes":
        return "kubectl get pods -o wide"
    return f"pgrep -af {own_code.script(attempt)}  # on the machine of each"


def reached(one: Attempt, other: Attempt) -> str | None:
    """What tries the network between two machines; None if that cannot be said."""
    here, there = _host(one), _host(other)
    if not here or not there or here == there or scheduler(one) == "Kubernetes":
        return None
    return f"ping -c 20 {there}  # on {here}"


def log_of_machine(attempt: Attempt, when: float) -> str:
    """What shows the log of the very machine that it ran on, from another one."""
    own, host = log(attempt, when), _host(attempt)
    return f"ssh {host} {own}" if host and own.startswith("journalctl") else own


def memory(attempt: Attempt, need: float) -> str:
    """What allows it that many bytes."""
    whole = math.ceil(need / _GIB)
    by = scheduler(attempt)
    if by == "Slurm":
        return f"#SBATCH --mem={whole}G"
    if by == "Kubernetes":
        return f"resources: {{limits: {{memory: {whole}Gi}}}}"
    update = f"docker update --memory={whole}g --memory-swap={whole}g"
    return f"{update} {_container(attempt)}"


def cores(attempt: Attempt, need: int) -> str:
    """What allows it that many cores."""
    by = scheduler(attempt)
    if by == "Slurm":
        return f"#SBATCH --cpus-per-task={need}"
    if by == "Kubernetes":
        return f"resources: {{limits: {{cpu: {need}}}}}"
    return f"docker update --cpus={need} {_container(attempt)}"


def handles(attempt: Attempt, detail: str, allowed: float | None) -> str | None:
    """What allows it more files, threads or processes; None if only an admin can.

    Args:
        attempt: The record.
        detail: "files", "threads" or "processes".
        allowed: How many it may have now, if that is known.
    """
    need = max(_MANY[detail], 4 * int(allowed or 0))
    if detail == "files":
        return f"ulimit -n {need}"
    if _CONTAINER_ID.fullmatch(_host(attempt)):
        return f"docker update --pids-limit={need} {_container(attempt)}"
    # In a pod the number is set for the whole node.
    return None if scheduler(attempt) == "Kubernetes" else f"ulimit -u {need}"


def _container(attempt: Attempt) -> str:
    host = _host(attempt)
    return host if _CONTAINER_ID.fullmatch(host) else "CONTAINER"


def _host(attempt: Attempt) -> str:
    """As a word of a shell; empty if it is not known."""
    name = (attempt.start.host if attempt.start else None) or ""
    return shlex.quote(name) if name else ""


def _job(attempt: Attempt) -> str:
    """The number of a job of Slurm, as a word of a shell; empty if it is none."""
    number = attempt.start.settings.get("env.SLURM_JOB_ID", "") if attempt.start else ""
    return shlex.quote(number) if number else ""
