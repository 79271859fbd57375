"""Whether higher or lower is better."""

import pytest

from tb_health_plugin.diagnosis.metric_direction import better


@pytest.mark.parametrize(
    "name",
    [
        "accuracy",
        "val_accuracy",
        "val_acc",
        "sparse_categorical_accuracy",
        "val_auc_1",
        "f1_score",
        "mean_iou",
        "recall",
    ],
)
def test_higher(name: str):
    assert better(name) == "max"


@pytest.mark.parametrize(
    "name",
    ["loss", "val_loss", "mae", "val_mse", "dice_loss", "mean_absolute_error", "wer"],
)
def test_lower(name: str):
    assert better(name) == "min"


@pytest.mark.parametrize("name", ["", "val_q", "kl", "learning_rate", "entropy_bonus"])
def test_the_name_does_not_tell(name: str):
    assert better(name) is None
