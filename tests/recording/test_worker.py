"""Which worker a process is, told from what its launcher put into its environment."""

import json

import pytest

from tb_health_plugin.events.settings import PROCESS
from tb_health_plugin.recording.worker import worker_settings

CLUSTER = {"worker": ["10.0.0.1:1", "10.0.0.2:1"], "ps": ["10.0.0.3:1"]}
RENDEZVOUS = {"MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "29500"}


def tf_config(role: str, index: int, cluster=CLUSTER) -> dict[str, str]:
    config = {"cluster": cluster, "task": {"type": role, "index": index}}
    return {"TF_CONFIG": json.dumps(config)}


def test_a_task_of_a_cluster():
    found = worker_settings(tf_config("worker", 1))

    job = found.pop("worker.job")
    assert found == {
        "worker.by": "TF_CONFIG",
        "worker.role": "worker",
        "worker.rank": "1",
        "worker.size": "3",
    }
    assert worker_settings(tf_config("ps", 0))["worker.job"] == job


def test_another_cluster_is_another_job_and_no_address_is_told():
    one = worker_settings(tf_config("worker", 0))
    other = worker_settings(tf_config("worker", 0, {"worker": ["a:1", "b:1"]}))

    assert one["worker.job"] != other["worker.job"]
    assert "10.0" not in json.dumps(one)


@pytest.mark.parametrize(
    ("environment", "by", "rank", "size"),
    [
        ({"HOROVOD_RANK": "3", "HOROVOD_SIZE": "8"}, "Horovod", "3", "8"),
        (
            {"RANK": "2", "WORLD_SIZE": "4", "TORCHELASTIC_RUN_ID": "x", **RENDEZVOUS},
            "torchrun",
            "2",
            "4",
        ),
        (
            {"RANK": "0", "WORLD_SIZE": "4", "RAY_JOB_ID": "01", **RENDEZVOUS},
            "Ray Train",
            "0",
            "4",
        ),
        (
            {"RANK": "1", "WORLD_SIZE": "2", "KUBERNETES_SERVICE_HOST": "10.0.0.9"},
            "Kubeflow",
            "1",
            "2",
        ),
        ({"RANK": "1", "WORLD_SIZE": "2"}, "RANK", "1", "2"),
        (
            {"OMPI_COMM_WORLD_RANK": "5", "OMPI_COMM_WORLD_SIZE": "6"},
            "Open MPI",
            "5",
            "6",
        ),
        ({"PMI_RANK": "0", "PMI_SIZE": "2"}, "MPI", "0", "2"),
        (
            {"SLURM_PROCID": "7", "SLURM_NTASKS": "16", "SLURM_JOB_ID": "99"},
            "Slurm",
            "7",
            "16",
        ),
    ],
)
def test_launchers(environment: dict[str, str], by: str, rank: str, size: str):
    found = worker_settings(environment)

    assert found["worker.by"] == by
    assert (found["worker.rank"], found["worker.size"]) == (rank, size)


def test_a_kubernetes_index_has_no_size():
    found = worker_settings({"JOB_COMPLETION_INDEX": "4"})

    assert found == {
        "worker.by": "Kubernetes",
        "worker.role": "worker",
        "worker.rank": "4",
    }


def test_the_surest_source_wins():
    slurm = {"SLURM_PROCID": "7", "SLURM_NTASKS": "16"}

    assert worker_settings(tf_config("worker", 1) | slurm)["worker.by"] == "TF_CONFIG"


def test_a_start_again_is_another_job():
    first = {"SLURM_PROCID": "0", "SLURM_NTASKS": "2", "SLURM_JOB_ID": "99"}

    again = worker_settings(first | {"SLURM_RESTART_COUNT": "1"})

    assert again["worker.job"] != worker_settings(first)["worker.job"]


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"TF_CONFIG": "{"},
        {"TF_CONFIG": "[1]"},
        {"TF_CONFIG": '{"cluster": {"worker": 3}, "task": {}}'},
        tf_config("worker", 0, {"worker": ["one:1"]}),
        {"SLURM_PROCID": "0", "SLURM_NTASKS": "1"},
        {"RANK": "", "WORLD_SIZE": "2"},
        {"RANK": "x", "WORLD_SIZE": "2"},
        {"RANK": "1"},
    ],
)
def test_one_alone_is_no_worker(environment: dict[str, str]):
    assert worker_settings(environment) == {}


def test_every_name_is_in_the_vocabulary():
    assert set(worker_settings(tf_config("worker", 0))) <= set(PROCESS)
