"""Time in callbacks, and exceptions out of them."""

import time

import pytest

from tb_health_plugin.events import facts

pytestmark = pytest.mark.live

STEPS = 8


def raising(keras, hook: str, error: BaseException):
    """A callback that raises in one of its hooks."""

    def raise_it(self, *args, **kwargs):
        raise error

    return type("Bad", (keras.callbacks.Callback,), {hook: raise_it})()


class TestTime:
    def test_is_told_by_class(self, keras, fit, recorded):
        class Slow(keras.callbacks.Callback):
            def on_epoch_end(self, epoch, logs=None):
                time.sleep(0.05)

        class Quick(keras.callbacks.Callback):
            def on_epoch_end(self, epoch, logs=None):
                pass

        fit(recorded.callback(), Slow(), Quick())

        spent = recorded.spent()
        assert 0.1 <= spent.callback_seconds["Slow"] < spent.seconds
        assert "Quick" not in spent.callback_seconds

    def test_of_a_function_is_told_by_its_name(self, keras, fit, recorded):
        def think(epoch, logs):
            time.sleep(0.05)

        fit(recorded.callback(), keras.callbacks.LambdaCallback(on_epoch_end=think))

        spent = recorded.spent()
        assert spent.callback_seconds["LambdaCallback (think)"] >= 0.1

    def test_a_hook_that_calls_another_counts_once(self, keras, fit, recorded):
        class Old(keras.callbacks.Callback):
            def on_batch_end(self, batch, logs=None):
                time.sleep(0.01)

            def on_train_batch_end(self, batch, logs=None):
                self.on_batch_end(batch, logs)

        fit(recorded.callback(), Old(), epochs=1)

        spent = recorded.spent()
        assert spent.callback_seconds["Old"] < spent.seconds


class TestExceptions:
    @pytest.mark.parametrize("first", [True, False])
    def test_the_finished_step_counts_wherever_we_stand(
        self, keras, fit, recorded, first
    ):
        class Bad(keras.callbacks.Callback):
            def on_train_batch_end(self, batch, logs=None):
                if batch == 5:
                    raise ValueError("of my own")

        ours = recorded.callback()
        callbacks = (ours, Bad()) if first else (Bad(), ours)
        with pytest.raises(ValueError, match="of my own"):
            fit(*callbacks)

        ended = recorded.one(facts.TrainingEnded)
        assert (ended.reason, ended.last_step) == ("raised", 6)
        assert (ended.exception, ended.message) == ("ValueError", "of my own")
        assert (ended.during, ended.callback) == ("callback", "Bad")
        assert (ended.file, ended.function) == (__file__, "on_train_batch_end")
        assert "raise ValueError" in ended.text
        assert "tb_health_plugin" not in ended.text
        assert not recorded.one(facts.RunEnded).training_under_way

    @pytest.mark.parametrize(
        "hook",
        [
            "on_train_begin",
            "on_epoch_begin",
            "on_train_batch_begin",
            "on_test_begin",
            "on_test_batch_end",
            "on_epoch_end",
            "on_train_end",
        ],
    )
    @pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
    def test_of_any_kind_in_any_hook(self, keras, fit, data, recorded, hook, error):
        bad = raising(keras, hook, error("bad"))

        with pytest.raises(error, match="bad"):
            fit(recorded.callback(), bad, validation_data=data)

        ended = recorded.one(facts.TrainingEnded)
        assert ended.exception == error.__name__
        assert (ended.during, ended.callback) == ("callback", "Bad")

    def test_in_a_callback_of_keras(self, keras, fit, recorded):
        nan = keras.callbacks.TerminateOnNaN()
        saver = keras.callbacks.ModelCheckpoint("/proc/none/{epoch}.weights.h5")
        with pytest.raises(OSError, match="/proc/none"):
            fit(recorded.callback(), nan, saver)

        ended = recorded.one(facts.TrainingEnded)
        assert (ended.during, ended.callback) == ("callback", "ModelCheckpoint")

    def test_one_that_a_callback_catches_goes_unnoticed(self, keras, fit, recorded):
        class Bad(keras.callbacks.Callback):
            def on_epoch_end(self, epoch, logs=None):
                raise ValueError("bad")

        class Careful(keras.callbacks.Callback):
            def on_epoch_end(self, epoch, logs=None):
                with pytest.raises(ValueError, match="bad"):
                    bad.on_epoch_end(epoch, logs)

        bad = Bad()
        fit(recorded.callback(), Careful())

        assert recorded.one(facts.TrainingEnded).reason == "returned"
