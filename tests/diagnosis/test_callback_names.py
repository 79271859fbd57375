"""The class of a callback is found by the line that a stack stands at."""

import pytest

from tb_health_plugin.diagnosis.callback_names import callback_of
from tb_health_plugin.events import facts
from tests.diagnosis.rules.histories import attempt_of, run_started, training_started

LINES = "Goal train.py:12-30; Upload train.py:32-40; Goal other.py:1-9"
KERAS = "/lib/site-packages/keras/src/callbacks"


def stacks(*frames: tuple[str, int, str]) -> str:
    lines = [f'  File "{file}", line {line} in {name}' for file, line, name in frames]
    return "\n".join(["Current thread 0x1 (most recent call first):", *lines])


def named(*frames: tuple[str, int, str], lines: str = LINES) -> str | None:
    told: list[facts.Fact] = [
        run_started(),
        training_started(settings={"callbacks.lines": lines}),
    ]
    return callback_of(attempt_of(*told), stacks(*frames))


FIT = (f"{KERAS}/callback_list.py", 220, "on_epoch_end")


@pytest.mark.parametrize(
    ("frame", "name"),
    [
        (("/home/me/train.py", 35, "on_epoch_end"), "Upload"),
        (("/home/me/train.py", 12, "on_train_batch_end"), "Goal"),
        (("/home/me/other.py", 3, "on_epoch_begin"), "Goal"),
        ((f"{KERAS}/model_checkpoint.py", 200, "on_epoch_end"), "ModelCheckpoint"),
    ],
)
def test_its_class(frame: tuple[str, int, str], name: str):
    waits = ("/usr/lib/python3.11/threading.py", 327, "wait")

    assert named(waits, frame, FIT) == name


@pytest.mark.parametrize(
    "frame",
    [
        ("/home/me/train.py", 31, "on_epoch_end"),
        ("/home/me/third.py", 15, "on_epoch_end"),
        ("/home/me/train.py", 15, "make_batches"),
    ],
)
def test_no_class_where_no_line_says_so(frame: tuple[str, int, str]):
    assert named(frame, FIT) is None


def test_nothing_recorded_of_them():
    assert named(("/home/me/train.py", 35, "on_epoch_end"), FIT, lines="") is None
    assert callback_of(attempt_of(run_started()), "") is None
