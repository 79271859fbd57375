"""Whoever lends the machine is asked in their own words."""

import pytest

from tb_health_plugin.diagnosis import hosting
from tb_health_plugin.events import facts
from tb_health_plugin.reading.run_history import Attempt

GIB = 1 << 30
SLURM = {"env.SLURM_JOB_ID": "4711"}
POD = {"env.KUBERNETES": "True"}


def of(host: str | None = "box", **settings: str) -> Attempt:
    attempt = Attempt("a")
    attempt.add(facts.RunStarted(wall_time=1.0, host=host, settings=settings))
    return attempt


@pytest.mark.parametrize(
    ("attempt", "code"),
    [
        (of(**SLURM), "sacct -j 4711 --format="),
        (of("train-0", **POD), "kubectl describe pod train-0"),
        (of("0123456789ab"), "docker inspect --format '{{json .State}}' 0123456789ab"),
        (of(), "journalctl --since @940 --until @1005"),
        (Attempt("a"), "journalctl --since @940 --until @1005"),
    ],
)
def test_whose_log_tells_of_an_end(attempt: Attempt, code: str):
    assert hosting.log(attempt, 1_000.0).startswith(code)


@pytest.mark.parametrize(
    ("attempt", "code"),
    [
        (of(**SLURM), "#SBATCH --mem=3G"),
        (of("train-0", **POD), "resources: {limits: {memory: 3Gi}}"),
        (
            of("0123456789ab"),
            "docker update --memory=3g --memory-swap=3g 0123456789ab",
        ),
        (of(), "docker update --memory=3g --memory-swap=3g CONTAINER"),
    ],
)
def test_who_gives_more_memory(attempt: Attempt, code: str):
    assert hosting.memory(attempt, 2.1 * GIB) == code


def test_who_gives_more_cores():
    assert hosting.cores(of(**SLURM), 4) == "#SBATCH --cpus-per-task=4"
    assert hosting.cores(of(**POD), 4) == "resources: {limits: {cpu: 4}}"
    assert hosting.cores(of(), 4) == "docker update --cpus=4 CONTAINER"


@pytest.mark.parametrize(
    ("attempt", "code"),
    [
        (of(**SLURM), "sacct -j 4711 --format="),
        (of("train-0", **POD), "kubectl get pods -o wide"),
        (of(), "pgrep -af train.py  # on the machine of each"),
    ],
)
def test_how_the_other_workers_are(attempt: Attempt, code: str):
    assert hosting.others(attempt).startswith(code)


def test_the_network_between_two_machines():
    assert hosting.reached(of("a"), of("b")) == "ping -c 20 b  # on a"
    assert hosting.reached(of("a"), of("a")) is None
    assert hosting.reached(of("a"), of(None)) is None
    assert hosting.reached(of("a", **POD), of("b", **POD)) is None


def test_the_log_of_a_machine_that_is_another_one():
    assert hosting.log_of_machine(of("box"), 1_000.0) == (
        "ssh box journalctl --since @940 --until @1005"
    )
    assert hosting.log_elsewhere(of("box"), 1_000.0).endswith("# on its machine")
    pod = of("train-0", **POD)
    assert hosting.log_of_machine(pod, 1_000.0) == "kubectl describe pod train-0"


@pytest.mark.parametrize(
    ("attempt", "detail", "allowed", "code"),
    [
        (of(), "files", 1024.0, "ulimit -n 65536"),
        (of(), "files", 65_536.0, "ulimit -n 262144"),
        (of(), "threads", None, "ulimit -u 16384"),
        (
            of("0123456789ab"),
            "processes",
            512.0,
            "docker update --pids-limit=16384 0123456789ab",
        ),
        (of(**POD), "threads", 512.0, None),
    ],
)
def test_who_gives_more_handles(
    attempt: Attempt, detail: str, allowed: float | None, code: str | None
):
    assert hosting.handles(attempt, detail, allowed) == code


def test_names_are_words_of_a_shell():
    odd = of("a b;c")

    assert hosting.log_of_machine(odd, 1_000.0).startswith("ssh 'a b;c' journalctl")
