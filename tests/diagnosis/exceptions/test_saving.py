"""Saving that failed for another reason than room."""

import pytest

from tb_health_plugin.events import facts
from tests.diagnosis.exceptions.raising import raised

SAVING = (
    'Traceback (most recent call last):\n  File "/home/ana/train.py", line 9, in '
    'on_epoch_end\n    self.model.save(path)\n  File "/venv/lib/python3.11/'
    'site-packages/keras/src/saving/saving_api.py", line 114, in save_model\n    x\n'
)
LOADING = SAVING.replace("in save_model", "in load_model")


@pytest.mark.parametrize(
    ("exception", "message", "detail"),
    [
        (
            "PermissionError",
            "[Errno 13] Permission denied: '/mnt/out/a.keras'",
            "permission",
        ),
        ("OSError", "[Errno 30] Read-only file system: '/mnt/out'", "permission"),
        (
            "FileNotFoundError",
            "[Errno 2] No such file or directory: '/mnt/out'",
            "missing_directory",
        ),
        (
            "TypeError",
            "Object of type ndarray is not JSON serializable",
            "unserialisable",
        ),
        (
            "KeyError",
            "'Failed to format this callback filepath: \"{val_acc}\"'",
            "name",
        ),
        ("RuntimeError", "something else", "raised"),
    ],
)
def test_why(exception: str, message: str, detail: str):
    told = raised(exception, message, during="callback", callback="ModelCheckpoint")

    assert (told.verdict.id, told.verdict.detail) == ("checkpoint_failure", detail)
    assert told.headline == "ModelCheckpoint could not save the model at step 1,234"


def test_a_callback_of_the_programs_own_that_saves():
    told = raised(
        "PermissionError",
        "[Errno 13] Permission denied: '/mnt/out/a.keras'",
        during="callback",
        callback="Keep",
        text=SAVING,
    )

    assert told.verdict.id == "checkpoint_failure"


def test_loading_is_not_saving():
    told = raised("ValueError", "No such object in the file", text=LOADING)

    assert told.verdict.id == "code_error"


def test_what_was_saved_before_is_told():
    saved = facts.Saved(wall_time=5.0, step=900, path="/mnt/out/a.keras", ok=True)

    told = raised(
        "OSError",
        "[Errno 30] Read-only file system: '/mnt/out'",
        before=[saved],
        callback="ModelCheckpoint",
        during="callback",
    )

    assert told.verdict.evidence[-1].text == (
        "The last one that was saved is of step 900 (/mnt/out/a.keras)."
    )


def test_the_directory_to_make_is_that_of_the_file():
    told = raised(
        "FileNotFoundError",
        "[Errno 2] Unable to create file (name = '/mnt/out/run1/best.weights.h5')",
        during="callback",
        callback="ModelCheckpoint",
    )

    assert told.verdict.fixes[0].code == 'os.makedirs("/mnt/out/run1", exist_ok=True)'


def test_a_file_in_the_way_is_not_cured_by_making_a_directory():
    told = raised(
        "NotADirectoryError",
        "[Errno 20] Unable to create file (name = '/mnt/out/best.weights.h5', error "
        "message = 'Not a directory', flags = 13, o_flags = 242, and much more that "
        "does not fit beside a fix because it is so very long)",
        during="callback",
        callback="ModelCheckpoint",
    )

    fix = told.verdict.fixes[0]
    assert told.verdict.detail == "not_a_directory"
    assert "/mnt/out/best.weights.h5" in fix.title
    assert fix.code == "namei -l /mnt/out/best.weights.h5"
    assert fix.why.endswith("…")


def test_a_metric_in_a_name_that_the_logs_do_not_have():
    epoch = facts.EpochEnded(
        wall_time=5.0,
        step=400,
        epoch=0,
        training=0,
        metrics={"loss": 1.0, "val_mae": 2},
    )

    told = raised(
        "KeyError",
        "'val_acc'",
        before=[epoch],
        during="callback",
        callback="ModelCheckpoint",
    )

    fix = told.verdict.fixes[0]
    assert fix.why == "It said: 'val_acc'. They have loss and val_mae."
    assert fix.code == (
        'keras.callbacks.ModelCheckpoint("model-{epoch:02d}-{val_mae:.3f}.keras")'
    )


def test_a_monitor_that_is_refused_is_an_error_of_the_callbacks_settings():
    epoch = facts.EpochEnded(
        wall_time=5.0, step=400, epoch=0, training=0, metrics={"loss": 1.0, "mae": 0.4}
    )

    told = raised(
        "ValueError",
        "ModelCheckpoint callback received monitor=val_mae, but Keras isn't able to "
        "automatically determine whether that metric should be maximized.",
        before=[epoch],
        during="callback",
        callback="ModelCheckpoint",
    )

    assert told.verdict.id == "callback_error"
    assert told.verdict.fixes[0].code == 'monitor="mae"'
    assert "There was no validation." in told.verdict.fixes[0].why
