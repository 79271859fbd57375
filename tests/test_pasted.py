"""What counts as a line that can be pasted."""

import pytest

from tests.pasted import problem


@pytest.mark.parametrize(
    "code",
    [
        'model.compile(..., loss="mse")',
        'monitor="val_loss", patience=10',
        "def on_epoch_end(self, epoch, logs=None):",
        "while True:\n    for batch in batches:\n        yield batch",
        "except OSError as error: logging.exception(error)",
        "@tf.function(input_signature=[tf.TensorSpec([None, None])])",
        "break",
        "df -h '/a b'",
        "CUDA_VISIBLE_DEVICES=0 python train.py",
        "#SBATCH --time=24:00:00",
        "resources: {limits: {memory: 3Gi}}",
        "%debug",
    ],
)
def test_parts_of_programs_and_commands_can_be_pasted(code: str):
    assert problem(code) is None


@pytest.mark.parametrize(
    "code",
    [
        "",
        "y = y - 1\n",
        'model.fit(x, y, batch_size="32)',
        "Dense(24, activation=)",
        "look at the logs",
        "df -h '/a b",
    ],
)
def test_what_does_not_parse_cannot(code: str):
    assert problem(code) is not None
