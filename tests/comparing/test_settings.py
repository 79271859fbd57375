"""Which settings differ, and which one is worth trying first."""

import pytest

from tb_health_plugin.comparing.comparison import Compared
from tb_health_plugin.comparing.settings import (
    Difference,
    differences,
    settings_of,
    try_first,
)
from tb_health_plugin.comparing.signals import SIGNALS
from tb_health_plugin.events import facts
from tests.comparing.runs import run


def seen(signal: str, kind: str = "level", a: float = 2.0, b: float = 1.0) -> Compared:
    (one,) = [s for s in SIGNALS if s.id == signal]
    return Compared(signal=one, kind=kind, a=a, b=b)  # type: ignore[arg-type]


def tried(what: Compared, **settings: tuple[str | None, str | None]) -> str | None:
    found = try_first(
        what,
        [Difference(name.replace("__", "."), *ab) for name, ab in settings.items()],
    )
    return found.setting if found else None


def test_settings_of_the_process_and_of_the_training_are_one_list():
    history = run(settings={"batch_size": "32"})
    assert history.latest is not None

    assert settings_of(history.latest) == {
        "program": "/home/ana/train.py",
        "batch_size": "32",
    }


def test_the_last_training_counts():
    again = facts.TrainingStarted(
        wall_time=2_000.0,
        training=1,
        trainable_parameters=1_234,
        settings={"epochs": "9"},
    )
    history = run("run", again, settings={"epochs": "1"})
    assert history.latest is not None

    found = settings_of(history.latest)
    assert (found["epochs"], found["trainable_parameters"]) == ("9", "1,234")


def test_only_differences_are_listed_those_of_the_training_first():
    a = {"python": "3.11", "batch_size": "512", "loss": "mse", "env.X": "1"}
    b = {"python": "3.12", "batch_size": "128", "loss": "mse"}

    assert differences(a, b) == [
        Difference("batch_size", "512", "128"),
        Difference("python", "3.11", "3.12"),
        Difference("env.X", "1", None),
    ]


@pytest.mark.parametrize(
    ("what", "settings", "first"),
    [
        (
            seen("host_memory", "grows"),
            {"batch_size": ("512", "128"), "data__cache": ("True", "False")},
            "data.cache",
        ),
        (seen("host_memory"), {"batch_size": ("512", "128")}, "batch_size"),
        (seen("data_wait"), {"data__prefetch": ("False", "True")}, "data.prefetch"),
        (seen("data_wait"), {"data__workers": ("1", "8")}, "data.workers"),
        (
            seen("loss", "not_finite", a=float("nan")),
            {"optimizer__learning_rate": ("1.0", "0.001")},
            "optimizer.learning_rate",
        ),
        (
            seen("gradient_norm"),
            {"optimizer__clipnorm": (None, "1.0")},
            "optimizer.clipnorm",
        ),
        (
            seen("throughput", a=1.0, b=2.0),
            {"threads__intra_op": ("1", "0")},
            "threads.intra_op",
        ),
    ],
)
def test_a_setting_that_can_change_the_signal_is_tried(what, settings, first: str):
    assert tried(what, **settings) == first


@pytest.mark.parametrize(
    ("what", "settings"),
    [
        # It was the other run that cached.
        (seen("host_memory", "grows"), {"data__cache": ("False", "True")}),
        # A larger batch does not make memory grow for ever.
        (seen("host_memory", "grows"), {"batch_size": ("512", "128")}),
        (seen("host_memory"), {"batch_size": ("128", "512")}),
        (seen("host_memory"), {"optimizer__learning_rate": ("1.0", "0.001")}),
        (seen("data_wait"), {"optimizer": ("SGD", "Adam")}),
        (seen("loss"), {"threads__intra_op": ("1", "0"), "python": ("3.11", "3.12")}),
        (seen("temperature"), {"batch_size": ("512", "128")}),
        (seen("loss"), {}),
    ],
)
def test_a_setting_that_cannot_is_not(what, settings):
    assert tried(what, **settings) is None


def test_no_difference_needs_no_setting():
    assert try_first(None, [Difference("batch_size", "1", "2")]) is None


def test_it_is_said_whether_it_is_the_only_one():
    rate = Difference("optimizer.learning_rate", "1.0", "0.001")
    clip = Difference("optimizer.clipnorm", None, "1.0")

    one, two = (try_first(seen("loss"), given) for given in ([rate], [rate, clip]))

    assert one is not None
    assert two is not None
    assert "it is the only one that can make loss and gradients grow" in one.why
    assert "it is the likeliest to make loss and gradients grow" in two.why
