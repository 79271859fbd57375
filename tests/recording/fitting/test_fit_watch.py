"""How trainings end, and what is left of us afterwards: nothing."""

import copy
import gc
import pickle
import sys
import warnings
import weakref

import numpy as np
import pytest

from demo.tensorboard_server import wait_until
from tb_health_plugin.events import facts
from tb_health_plugin.recording.fitting import parts

pytestmark = pytest.mark.live
keras_callbacks = pytest.importorskip("keras").callbacks


class Copied(keras_callbacks.Callback):
    """Copies itself at the end of an epoch."""

    def __init__(self, copied, found):
        super().__init__()
        self.copied = copied
        self.found = found

    def __getstate__(self):
        return {"found": [], "copied": None, **self.hooks()}

    def hooks(self):
        return {n: v for n, v in vars(self).items() if n.startswith("on_")}

    def on_epoch_end(self, epoch, logs=None):
        self.found.append(self.copied(self) if self.copied else self)


def gone(wanted, holder) -> bool:
    return not any(name in vars(holder) for name in wanted)


def traces_of_us(keras, model, *callbacks) -> dict:
    """Everything in which something of ours could be left."""
    objects = (model, model.optimizer, *callbacks)
    return {
        "names": [sorted(vars(one)) for one in objects],
        "classes": [sorted(vars(kind)) for kind in type(model).__mro__],
        "collector": list(gc.callbacks),
        "warnings": warnings.showwarning,
    }


@pytest.fixture
def stopper(keras):
    return keras.callbacks.EarlyStopping("loss", patience=9)


class TestNothingIsLeft:
    @pytest.fixture(autouse=True)
    def trained_before(self, keras, model, fit, stopper):
        """Keras itself leaves things in a model that was trained."""
        fit(stopper, epochs=1)

    def test_after_a_training(self, keras, model, fit, stopper, recorded):
        ours = recorded.callback()
        before = traces_of_us(keras, model, stopper)

        fit(ours, stopper)

        assert traces_of_us(keras, model, stopper) == before

    @pytest.mark.parametrize("error", [ValueError, SystemExit, KeyboardInterrupt])
    def test_after_an_exception_in_a_callback(
        self, keras, model, fit, stopper, recorded, error
    ):
        class Bad(keras.callbacks.Callback):
            def on_epoch_end(self, epoch, logs=None):
                raise error

        ours, bad = recorded.callback(), Bad()
        bad.set_model(model)
        bad.set_params({})
        before = traces_of_us(keras, model, stopper, bad)

        with pytest.raises(error) as kept:
            fit(ours, stopper, bad)

        # Although the exception, and with it the call, is still alive.
        assert kept.value is not None
        assert traces_of_us(keras, model, stopper, bad) == before
        assert not ours._attempt.under_way

    def test_after_an_exception_that_nobody_saw(
        self, keras, model, fit, stopper, recorded, monkeypatch
    ):
        def broken():
            raise ValueError("in between")

        ours = recorded.callback()
        before = traces_of_us(keras, model, stopper)
        with monkeypatch.context() as patch:
            breaks = keras.callbacks.LambdaCallback(
                on_epoch_end=lambda epoch, logs: patch.setattr(
                    model, "reset_metrics", broken
                )
            )
            with pytest.raises(ValueError, match="in between") as kept:
                fit(ours, stopper, breaks)
        assert ours._attempt.under_way

        del kept
        gc.collect()

        wait_until(lambda: not ours._attempt.under_way)
        assert traces_of_us(keras, model, stopper) == before
        ended = recorded.one(facts.TrainingEnded)
        assert (ended.reason, ended.last_step) == ("raised", 8)

    def test_when_a_hook_of_ours_fails(
        self, keras, model, fit, stopper, recorded, monkeypatch
    ):
        ours = recorded.callback()
        before = traces_of_us(keras, model, stopper)
        monkeypatch.setattr(ours._attempt.recorder, "publish", lambda: 1 / 0)

        fit(ours, stopper)

        assert traces_of_us(keras, model, stopper) == before

    def test_of_the_data(self, keras, model, recorded):
        x, y = np.ones((16, 4), "float32"), np.ones((16, 1), "float32")
        reference = weakref.ref(x)
        ours = recorded.callback()
        model.fit(x, y, verbose=0, callbacks=[ours])

        del x, y
        gc.collect()

        assert reference() is None


class TestReturned:
    def test_two_fits_with_the_same_callback(self, fit, recorded):
        callback = recorded.callback()
        fit(callback)
        fit(callback)

        ended = recorded.all(facts.TrainingEnded)
        assert [(f.training, f.reason) for f in ended] == [
            (0, "returned"),
            (1, "returned"),
        ]
        assert {f.loop for f in recorded.all(facts.TrainingStarted)} == {"fit"}

    def test_a_list_of_callbacks_that_the_program_made(
        self, keras, model, data, recorded
    ):
        made = keras.callbacks.CallbackList(
            [recorded.callback()], add_history=True, model=model, epochs=1, steps=8
        )
        before = sorted(vars(made))
        for _ in range(2):
            model.fit(*data, batch_size=8, verbose=0, callbacks=made)

        assert sorted(vars(made)) == before
        ended = recorded.all(facts.TrainingEnded)
        assert [f.reason for f in ended] == ["returned", "returned"]

    def test_two_recordings_of_one_training(
        self, keras, model, fit, recorded, tmp_path, stopper
    ):
        fit(stopper, epochs=1)
        first = recorded.callback()
        second = type(first)(tmp_path / "other", watcher=False)
        before = traces_of_us(keras, model, stopper)

        fit(first, stopper, second)

        assert traces_of_us(keras, model, stopper) == before
        assert not second._attempt.under_way
        assert recorded.one(facts.TrainingEnded).reason == "returned"

    def test_two_models_in_turn(self, keras, model, data, recorded):
        other = keras.models.clone_model(model)
        other.compile("sgd", "mse")
        callback = recorded.callback()
        for _ in range(2):
            for one in (model, other):
                one.fit(*data, verbose=0, callbacks=[callback])
                one.train_on_batch(data[0][:8], data[1][:8])

        ended = recorded.all(facts.TrainingEnded)
        assert [f.reason for f in ended] == ["returned"] * 4
        assert recorded.all(facts.RecordingStopped) == []


class TestRaised:
    def test_and_then_fitted_again(self, keras, fit, recorded):
        class Bad(keras.callbacks.Callback):
            def on_epoch_end(self, epoch, logs=None):
                raise ValueError("bad")

        callback = recorded.callback()
        with pytest.raises(ValueError, match="bad"):
            fit(callback, Bad())
        fit(callback)

        ended = recorded.all(facts.TrainingEnded)
        assert [(f.training, f.reason) for f in ended] == [
            (0, "raised"),
            (1, "returned"),
        ]
        assert recorded.one(facts.RunEnded).during is None

    def test_while_the_step_is_traced(self, keras, data, recorded):
        class Whole(keras.layers.Layer):
            def call(self, x):
                return keras.ops.cast(keras.ops.cast(x, "int32"), "float32")

        model = keras.Sequential([keras.layers.Dense(1), Whole()])
        model.compile("sgd", "mse")

        with pytest.raises(ValueError, match="No gradients provided"):
            model.fit(*data, verbose=0, callbacks=[recorded.callback()])

        assert recorded.one(facts.TrainingEnded).exception == "ValueError"

    def test_in_a_list_that_lives_on(self, keras, model, data, recorded, monkeypatch):
        made = keras.callbacks.CallbackList(
            [recorded.callback()], add_history=True, model=model, epochs=1, steps=8
        )

        def broken():
            raise ValueError("in between")

        with monkeypatch.context() as patch:
            patch.setattr(model, "reset_metrics", broken)
            with pytest.raises(ValueError, match="in between"):
                model.fit(*data, batch_size=8, verbose=0, callbacks=made)
        model.fit(*data, batch_size=8, verbose=0, callbacks=made)

        ended = recorded.all(facts.TrainingEnded)
        assert [f.reason for f in ended] == ["raised", "returned"]

    def test_in_the_validation(self, keras, data, recorded):
        class Picky(keras.Sequential):
            def test_step(self, data):
                raise ValueError("no test today")

        picky = Picky([keras.Input((4,)), keras.layers.Dense(1)])
        picky.compile("sgd", "mse")
        with pytest.raises(ValueError, match="no test today"):
            picky.fit(
                *data, verbose=0, validation_data=data, callbacks=[recorded.callback()]
            )

        ended = recorded.one(facts.TrainingEnded)
        assert (ended.during, ended.callback) == ("validation", None)
        assert (ended.file, ended.function) == (__file__, "test_step")

    def test_the_process_ends_by_the_same(self, keras, fit, recorded):
        class Bad(keras.callbacks.Callback):
            def on_epoch_end(self, epoch, logs=None):
                raise ValueError("bad")

        try:
            fit(recorded.callback(), Bad())
        except ValueError as error:
            recorded.end_process(error)

        run = recorded.one(facts.RunEnded)
        assert (run.reason, run.training_under_way) == ("exception", True)
        assert (run.during, run.callback) == ("callback", "Bad")
        assert (run.file, run.function) == (__file__, "on_epoch_end")

    def test_the_process_ends_by_another(self, keras, fit, recorded):
        class Bad(keras.callbacks.Callback):
            def on_epoch_end(self, epoch, logs=None):
                raise ValueError("bad")

        with pytest.raises(ValueError, match="bad"):
            fit(recorded.callback(), Bad())
        try:
            raise ValueError("another")
        except ValueError as error:
            recorded.end_process(error)

        run = recorded.one(facts.RunEnded)
        assert (run.message, run.during) == ("another", None)
        assert not run.training_under_way

    def test_the_process_ends_by_one_that_nobody_saw(
        self, model, fit, recorded, monkeypatch
    ):
        def broken():
            raise ValueError("in between")

        monkeypatch.setattr(model, "reset_metrics", broken)
        try:
            fit(recorded.callback())
        except ValueError as error:
            recorded.end_process(error)

        ended = recorded.one(facts.TrainingEnded)
        assert (ended.reason, ended.message) == ("raised", "in between")
        assert (ended.file, ended.function) == (__file__, "broken")
        run = recorded.one(facts.RunEnded)
        assert run.training_under_way
        assert run.during is not None


# Keras' own, under numpy 2.
@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
class TestCopiesDuringFit:
    @pytest.mark.parametrize(
        "copied", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))]
    )
    def test_of_a_callback_have_nothing_of_ours(self, fit, recorded, copied):
        found = []

        fit(recorded.callback(), Copied(copied, found), epochs=1)

        (other,) = found
        other.on_epoch_end(0)
        assert len(other.found) == 1
        assert recorded.all(facts.RecordingStopped) == []

    def test_of_the_model_train(self, keras, model, fit, data, recorded):
        found = []

        class Clones(keras.callbacks.Callback):
            def on_epoch_end(self, epoch, logs=None):
                found.append(keras.models.clone_model(self.model))

        fit(recorded.callback(), Clones(), epochs=1)

        (other,) = found
        other.compile("sgd", "mse")
        other.fit(*data, verbose=0)
        assert recorded.spent().steps == 8


class Breaks:
    """A part in which everything fails."""

    def __init__(self, fit, where: str) -> None:
        self._where = where
        self._fail("made")

    def begin(self) -> None:
        self._fail("begin")

    def end(self) -> None:
        self._fail("end")

    def _fail(self, where: str) -> None:
        if where == self._where:
            raise RuntimeError(f"broken {where}")


# Keras' own, under numpy 2.
@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
class TestFaultsOfOurs:
    @pytest.mark.parametrize("where", ["made", "begin", "end"])
    def test_a_part_that_fails_is_left_out(self, fit, recorded, monkeypatch, where):
        def breaks(fit):
            return Breaks(fit, where)

        monkeypatch.setattr(parts, "PARTS", (breaks, *parts.PARTS))
        history = fit(recorded.callback())

        assert len(history.history["loss"]) == 2
        assert recorded.one(facts.TrainingEnded).reason == "returned"
        stopped = recorded.one(facts.RecordingStopped)
        assert stopped.why == f"RuntimeError: broken {where}"

    @pytest.mark.parametrize(
        "method",
        [
            "callback_watch.CallbackWatch.begin",
            "callback_watch.CallbackWatch.end",
            "stop_watch.StopWatch.begin",
            "stop_watch.StopWatch._fact",
            "saves._Save._record",
            "time_spent.TimeSpent._tell",
            "fit_watch.FitWatch.begin",
            "fit_watch.FitWatch.returned",
            "fit_watch.FitWatch.forget_data",
        ],
    )
    def test_a_fault_never_reaches_fit(
        self, keras, model, fit, recorded, monkeypatch, tmp_path, method
    ):
        module, kind, name = method.split(".")
        package = "tb_health_plugin.recording.fitting"
        recorded.callback()
        holder = getattr(sys.modules[f"{package}.{module}"], kind)
        real = getattr(holder, name)

        def fails(self, *args, **kwargs):
            if name == "end":
                real(self)
            raise RuntimeError("broken")

        monkeypatch.setattr(holder, name, fails)
        saver = keras.callbacks.ModelCheckpoint(
            str(tmp_path / "m.weights.h5"), save_weights_only=True
        )
        stopper = keras.callbacks.EarlyStopping("loss", patience=1, min_delta=10)

        history = fit(recorded.callback(), saver, stopper, epochs=5)

        assert len(history.history["loss"]) == 2
        # A part that is called from two places may be given up at both.
        told = [one.why for one in recorded.all(facts.RecordingStopped)]
        assert set(told) == {"RuntimeError: broken"}
        assert gone(["save", "call", "evaluate"], model)
