"""Other recorders, set up as their own documentation says, to be measured beside ours.

Each is a generator: it sets up, gives the callbacks for `fit`, and cleans up.
"""

import importlib.util
import os
from collections.abc import Callable, Iterator
from typing import Any

import keras
import tensorflow as tf

Peer = Callable[[str], Iterator[list[Any]]]


def _tensorboard(**options: Any) -> Peer:
    def peer(logs: str) -> Iterator[list[Any]]:
        yield [keras.callbacks.TensorBoard(logs, **options)]

    return peer


def _debugger_v2(logs: str) -> Iterator[list[Any]]:
    tf.debugging.experimental.enable_dump_debug_info(
        logs, tensor_debug_mode="CURT_HEALTH", circular_buffer_size=1_000
    )
    yield []


def _check_numerics(logs: str) -> Iterator[list[Any]]:
    tf.debugging.enable_check_numerics()
    yield []


def _wandb(logs: str) -> Iterator[list[Any]]:
    os.environ["WANDB_SILENT"] = "true"
    import wandb  # noqa: PLC0415 - an extra of the bench
    from wandb.integration.keras import WandbMetricsLogger  # noqa: PLC0415

    wandb.init(mode="offline", dir=logs, project="bench")
    yield [WandbMetricsLogger(log_freq="batch")]
    wandb.finish()


def _mlflow(logs: str) -> Iterator[list[Any]]:
    import mlflow  # noqa: PLC0415 - an extra of the bench

    mlflow.set_tracking_uri(f"sqlite:///{logs}/mlflow.db")
    mlflow.enable_system_metrics_logging()
    mlflow.set_system_metrics_sampling_interval(1)
    with mlflow.start_run():
        yield []


PEERS: dict[str, Peer] = {
    "Keras TensorBoard callback": _tensorboard(),
    'Keras TensorBoard, update_freq="batch"': _tensorboard(update_freq="batch"),
    "Keras TensorBoard, histogram_freq=1": _tensorboard(histogram_freq=1),
    "Debugger V2, CURT_HEALTH": _debugger_v2,
    "enable_check_numerics": _check_numerics,
    "W&B offline, each batch": _wandb,
    "MLflow system metrics at 1 Hz": _mlflow,
}
# What has to be installed for it.
NEEDS = {"W&B offline, each batch": "wandb", "MLflow system metrics at 1 Hz": "mlflow"}


def missing() -> dict[str, str]:
    """Peers that cannot be measured here, with what they need."""
    return {
        name: package
        for name, package in NEEDS.items()
        if importlib.util.find_spec(package) is None
    }
