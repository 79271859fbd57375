"""Real small trainings, and what was recorded of them."""

import dataclasses
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tb_health_plugin.events import facts
from tb_health_plugin.reading.attempt_reader import AttemptReader
from tb_health_plugin.recording import attempts, process_end
from tb_health_plugin.recording.process_end import ProcessEnd


class Recorded:
    """A recording in this process, which plays one process per test."""

    def __init__(self, logdir: Path) -> None:
        self.logdir = logdir

    def callback(self) -> Any:
        from tb_health_plugin.recording import keras_callback

        return keras_callback.HealthCallback(self.logdir, watcher=False)

    def end_process(self, error: BaseException | None = None) -> None:
        if error is None:
            end = ProcessEnd(reason="finished", happened_at=1.0)
        else:
            trace = error.__traceback__
            end = process_end.end_by_exception(type(error), error, trace)
        process_end._tell(end)

    def all(self, kind: type[facts.Fact]) -> list[Any]:
        """Everything of that kind; the process has ended then."""
        self.end_process()
        (directory,) = (self.logdir / "plugins/health").iterdir()
        reader = AttemptReader(directory)
        reader.refresh()
        return list(reader.attempt.all(kind))

    def one(self, kind: type[facts.Fact]) -> Any:
        (only,) = self.all(kind)
        return only

    def spent(self) -> Any:
        """All that was told of the time, added up as if it were one stretch."""
        stretches = self.all(facts.TimeSpent)
        added: dict[str, Any] = {}
        for stretch in stretches:
            for name in ("seconds", "steps", "traces", "recording_seconds", *_ADDED):
                value = getattr(stretch, name)
                if value is not None:
                    added[name] = added.get(name, 0) + value
        added["callback_seconds"] = Counter()
        for stretch in stretches:
            added["callback_seconds"].update(stretch.callback_seconds)
        return dataclasses.replace(stretches[-1], **added)


_ADDED = ("validation_seconds", "validation_steps", "save_seconds", "gc_seconds")


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch) -> Iterator[Recorded]:
    monkeypatch.setattr(attempts, "_attempts", {})
    monkeypatch.setattr(process_end, "_listeners", [])
    monkeypatch.setattr(process_end, "_seen", None)
    made = Recorded(tmp_path / "logs")
    yield made
    made.end_process()


@pytest.fixture
def keras() -> Any:
    return pytest.importorskip("keras")


@pytest.fixture
def model(keras) -> Any:
    keras.utils.set_random_seed(1)
    made = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    made.compile("sgd", "mse")
    return made


@pytest.fixture
def data() -> tuple[np.ndarray, np.ndarray]:
    x = np.linspace(0, 1, 64 * 4, dtype="float32").reshape(64, 4)
    return x, x.sum(axis=1, keepdims=True)


@pytest.fixture
def fit(model, data):
    """Eight steps of eight examples per epoch."""

    def run(*callbacks: Any, **options: Any) -> Any:
        options = {"epochs": 2, "batch_size": 8, "verbose": 0, **options}
        return model.fit(*data, callbacks=list(callbacks), **options)

    return run
