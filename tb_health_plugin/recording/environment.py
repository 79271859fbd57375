"""The few variables of the environment that change how a training runs."""

import json
from collections.abc import Mapping
from typing import Any

# Only these are ever read: an environment holds secrets.
_NAMES = (
    "TF_NUM_INTRAOP_THREADS",
    "TF_NUM_INTEROP_THREADS",
    "TF_XLA_FLAGS",
    "TF_GPU_ALLOCATOR",
    "TF_FORCE_GPU_ALLOW_GROWTH",
    "TF_ENABLE_ONEDNN_OPTS",
    "TF_DETERMINISTIC_OPS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "KERAS_BACKEND",
    "MALLOC_ARENA_MAX",
    "LD_PRELOAD",
    "SLURM_JOB_ID",
    "SLURM_PROCID",
    "SLURM_NTASKS",
    "SLURM_RESTART_COUNT",
    "WATCHDOG_USEC",
    "RANK",
    "WORLD_SIZE",
    "LOCAL_RANK",
    "OMPI_COMM_WORLD_RANK",
)
# Set to nothing, this one hides all GPUs; most others are then as if not set.
_MAY_BE_EMPTY = "CUDA_VISIBLE_DEVICES"
# A value that is longer is no setting.
_LONGEST = 200


def environment_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """As settings of `facts.RunStarted`: `env.NAME`."""
    found = {name: environment[name] for name in _NAMES if name in environment}
    if "KUBERNETES_SERVICE_HOST" in environment:
        found["KUBERNETES"] = "True"
    if "TF_CONFIG" in environment:
        found["TF_CONFIG"] = _cluster(environment["TF_CONFIG"])
    return {
        f"env.{name}": value
        for name, value in found.items()
        if len(value) <= _LONGEST and (value or name == _MAY_BE_EMPTY)
    }


def _cluster(text: str) -> str:
    """As in "task worker 0, cluster worker 2, ps 1": no addresses."""
    try:
        config: Any = json.loads(text)
        task = config.get("task") or {}
        cluster = config.get("cluster") or {}
        sizes = ", ".join(f"{kind} {len(cluster[kind])}" for kind in cluster)
        return f"task {task.get('type')} {task.get('index')}, cluster {sizes}"
    except (ValueError, TypeError, AttributeError):
        # Not what TensorFlow reads: it will say so itself.
        return ""
