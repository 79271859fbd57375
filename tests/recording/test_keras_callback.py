"""The one line, on real small trainings in this process."""

import copy
import functools
import math
import pickle
from pathlib import Path

import numpy as np
import pytest

from demo.tensorboard_server import wait_until
from tb_health_plugin.events import facts
from tb_health_plugin.reading.attempt_reader import AttemptReader
from tb_health_plugin.reading.run_history import Attempt
from tb_health_plugin.recording import attempts, keras_callback, process_end
from tb_health_plugin.recording.process_end import ProcessEnd

keras = pytest.importorskip("keras")
HealthCallback = functools.partial(keras_callback.HealthCallback, watcher=False)

STEPS = 8


@pytest.fixture(autouse=True)
def own_process(monkeypatch):
    """Each test is a process of its own as far as attempts go."""
    monkeypatch.setattr(attempts, "_attempts", {})
    monkeypatch.setattr(process_end, "_listeners", [])
    monkeypatch.setattr(process_end, "_seen", None)
    yield
    end_process()


@pytest.fixture
def model():
    keras.utils.set_random_seed(1)
    made = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    made.compile("sgd", "mse")
    return made


@pytest.fixture
def data() -> tuple[np.ndarray, np.ndarray]:
    x = np.linspace(0, 1, 64 * 4, dtype="float32").reshape(64, 4)
    return x, x.sum(axis=1, keepdims=True)


def end_process(reason: str = "finished", **more) -> None:
    process_end._tell(ProcessEnd(reason=reason, happened_at=1.0, **more))


def read(logdir: Path) -> Attempt:
    (directory,) = (logdir / "plugins/health").iterdir()
    reader = AttemptReader(directory)
    reader.refresh()
    return reader.attempt


def fit(model, data, *callbacks, **options):
    x, y = data
    options = {"epochs": 2, "batch_size": 8, "verbose": 0, **options}
    return model.fit(x, y, callbacks=list(callbacks), **options)


def test_a_training_is_told_from_start_to_end(tmp_path: Path, model, data):
    history = fit(model, data, HealthCallback(tmp_path), validation_split=0.0)
    end_process()

    attempt = read(tmp_path)
    (begun,) = attempt.all(facts.TrainingStarted)
    assert (begun.initial_epoch, begun.planned_epochs) == (0, 2)
    assert begun.planned_steps_per_epoch == STEPS
    assert begun.trainable_parameters == 5
    epochs = attempt.all(facts.EpochEnded)
    assert [(e.first_step, e.last_step) for e in epochs] == [(0, 8), (8, 16)]
    assert [e.metrics["loss"] for e in epochs] == history.history["loss"]
    (ended,) = attempt.all(facts.TrainingEnded)
    assert (ended.last_step, ended.epochs_done) == (16, 2)
    assert attempt.last(facts.RunEnded).reason == "finished"
    assert not attempt.last(facts.RunEnded).training_under_way


@pytest.mark.parametrize("place", [0, 1, 2])
def test_its_place_in_the_list_does_not_matter(tmp_path: Path, model, data, place: int):
    class Other(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            assert logs["loss"] >= 0

    callbacks = [Other(), Other()]
    callbacks.insert(place, HealthCallback(tmp_path))
    fit(model, data, *callbacks)
    end_process()

    assert read(tmp_path).last(facts.TrainingEnded).last_step == 16


def test_keras_before_3_11_tells_the_first_of_several_steps(
    tmp_path: Path, data, model, monkeypatch
):
    hook = HealthCallback(tmp_path)
    hook.set_model(model)
    hook.set_params({"steps": 10})
    model.compile("sgd", "mse", steps_per_execution=4)
    monkeypatch.setattr(keras_callback, "_TELLS_FIRST", True)

    assert [hook._last_of(first) for first in (0, 4, 8)] == [3, 7, 9]


@pytest.mark.parametrize("options", [{"steps_per_execution": 4}, {"run_eagerly": True}])
def test_ways_to_run_a_step(tmp_path: Path, data, model, options):
    model.compile("sgd", "mse", **options)

    fit(model, data, HealthCallback(tmp_path))
    end_process()

    assert read(tmp_path).last(facts.TrainingEnded).last_step == 16


def test_several_fits_are_one_attempt(tmp_path: Path, model, data):
    callback = HealthCallback(tmp_path)
    fit(model, data, callback)
    model.evaluate(*data, verbose=0)
    fit(model, data, callback, initial_epoch=2, epochs=3)
    fit(model, data, HealthCallback(tmp_path), epochs=1)
    end_process()

    attempt = read(tmp_path)
    begun = attempt.all(facts.TrainingStarted)
    assert [fact.training for fact in begun] == [0, 1, 2]
    assert [fact.first_step for fact in begun] == [0, 16, 24]
    assert [fact.initial_epoch for fact in begun] == [0, 2, 0]
    assert attempt.last(facts.TrainingEnded).last_step == 32


def test_a_loss_of_nan_is_recorded_as_one(tmp_path: Path, model, data):
    x, y = data

    fit(model, (x, y * np.nan), HealthCallback(tmp_path, period_seconds=0.01))
    end_process()

    attempt = read(tmp_path)
    assert math.isnan(attempt.last(facts.EpochEnded).metrics["loss"])
    assert attempt.samples.has("loss")


def test_an_exception_is_told_with_its_line(tmp_path: Path, model, data):
    HealthCallback(tmp_path)
    try:
        raise ValueError("bad batch")
    except ValueError as error:
        end = process_end.end_by_exception(type(error), error, error.__traceback__)
    process_end._tell(end)

    ended = read(tmp_path).last(facts.RunEnded)
    assert (ended.reason, ended.exception) == ("exception", "ValueError")
    assert ended.message == "bad batch"
    assert ended.file == __file__
    assert "raise ValueError" in ended.text


def test_a_model_that_its_first_step_builds_is_told_with_its_variables(tmp_path, data):
    class Own(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = keras.layers.Dense(1)

        def train_step(self, batch):
            x, y = batch
            loss = keras.ops.mean((self.dense(x) - y) ** 2)
            return {"loss": loss}

    own = Own()
    own.compile("sgd")
    fit(own, data, HealthCallback(tmp_path))
    end_process()

    first, *_, last = read(tmp_path).all(facts.TrainingStarted)
    assert first.trainable_parameters is None
    assert (first.training, first.wall_time) == (last.training, last.wall_time)
    assert last.trainable_parameters == 5
    assert len(last.variables) == 2
    assert last.settings == first.settings


class TestDoNoHarm:
    def test_results_are_the_same_to_the_bit(self, tmp_path: Path, data):
        losses = []
        for callbacks in ([], [HealthCallback(tmp_path, period_seconds=0.01)]):
            keras.utils.set_random_seed(5)
            model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
            model.compile("adam", "mse")
            losses.append(fit(model, data, *callbacks, epochs=5).history["loss"])

        assert losses[0] == losses[1]

    @pytest.mark.parametrize(
        "hook",
        [
            "on_train_begin",
            "on_epoch_begin",
            "on_train_batch_begin",
            "on_train_batch_end",
            "on_epoch_end",
            "on_train_end",
        ],
    )
    def test_a_fault_in_any_hook_does_not_reach_fit(
        self, tmp_path: Path, model, data, hook: str, monkeypatch, caplog
    ):
        callback = HealthCallback(tmp_path)

        class Broken:
            def __getattr__(self, name: str):
                raise RuntimeError("broken")

        real = getattr(keras_callback.HealthCallback, hook)

        def sabotage(self, *args, **kwargs):
            self._attempt.recorder = Broken()
            real(self, *args, **kwargs)

        monkeypatch.setattr(keras_callback.HealthCallback, hook, sabotage)
        recorder = callback._attempt.recorder
        history = fit(model, data, callback)
        callback._attempt.recorder = recorder

        assert len(history.history["loss"]) == 2
        assert [r.message for r in caplog.records] == [
            "Training Health stopped recording steps and epochs "
            "(RuntimeError: broken). The training goes on."
        ]

    # Keras' own, under numpy 2.
    @pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
    def test_the_model_is_saved_and_cloned_as_before(self, tmp_path: Path, model, data):
        fit(model, data, HealthCallback(tmp_path / "logs"))
        model.save(tmp_path / "model.keras")

        again = keras.models.load_model(tmp_path / "model.keras")
        assert again.count_params() == 5
        assert keras.models.clone_model(model).count_params() == 5


class TestCopies:
    """Tuners copy callbacks for each trial."""

    @pytest.mark.parametrize(
        "copied", [copy.deepcopy, lambda c: pickle.loads(pickle.dumps(c))]
    )
    def test_a_copy_records_into_the_same_attempt(self, tmp_path: Path, copied):
        callback = HealthCallback(tmp_path)

        assert copied(callback)._attempt is callback._attempt


class TestASweep:
    def test_a_recording_ends_when_the_next_one_begins(
        self, tmp_path: Path, model, data
    ):
        for trial in ("a", "b"):
            fit(model, data, HealthCallback(tmp_path / trial))

        wait_until(lambda: read(tmp_path / "a").last(facts.RunEnded))
        assert read(tmp_path / "a").last(facts.RunEnded).reason == "finished"
        assert read(tmp_path / "b").last(facts.RunEnded) is None

    def test_two_trainings_at_once_both_go_on(self, tmp_path: Path, model, data):
        first = HealthCallback(tmp_path / "a")
        first.set_model(model)
        first.on_train_begin()
        first.on_epoch_begin(0)

        HealthCallback(tmp_path / "b")

        assert HealthCallback(tmp_path / "a")._attempt is first._attempt


class TestWrongInput:
    def test_a_log_directory_that_is_a_file(self, tmp_path: Path):
        (tmp_path / "file").touch()

        with pytest.raises(ValueError, match="is a file"):
            HealthCallback(tmp_path / "file")

    @pytest.mark.parametrize("period", [0, -1, math.nan])
    def test_a_period_that_is_none(self, tmp_path: Path, period: float):
        with pytest.raises(ValueError, match="period_seconds="):
            HealthCallback(tmp_path, period_seconds=period)


class TestRules:
    def test_what_the_user_wants_of_rules_is_recorded(self, tmp_path: Path):
        HealthCallback(tmp_path, rules={"overfitting": "off"})
        again = HealthCallback(tmp_path, rules={"input_bound.warning_share": 0.8})
        pickle.loads(pickle.dumps(again))
        end_process()

        told = [dict(one.rules) for one in read(tmp_path).all(facts.RulesChosen)]
        share = {"input_bound.warning_share": "0.8"}
        assert told == [{"overfitting": "off"}, share, share]

    def test_nonsense_is_an_error_before_anything_is_made(self, tmp_path: Path):
        with pytest.raises(ValueError, match="no rule is called 'overfiting'"):
            HealthCallback(tmp_path / "run", rules={"overfiting": "off"})

        assert not (tmp_path / "run").exists()
