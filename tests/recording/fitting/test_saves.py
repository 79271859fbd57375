"""Models that are saved while they train."""

import pytest

from tb_health_plugin.events import facts

pytestmark = [
    pytest.mark.live,
    # Keras' own, under numpy 2.
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
]


def test_a_checkpoint_is_told_and_can_be_loaded(keras, fit, recorded, tmp_path):
    path = tmp_path / "model.keras"
    fit(recorded.callback(), keras.callbacks.ModelCheckpoint(str(path)), epochs=1)

    saved = recorded.one(facts.Saved)
    assert (saved.path, saved.ok) == (str(path), True)
    assert saved.callback == "ModelCheckpoint"
    assert saved.size_bytes == path.stat().st_size
    assert saved.training == 0
    spent = recorded.spent()
    assert 0 < saved.seconds <= spent.save_seconds < spent.seconds
    assert spent.callback_seconds["ModelCheckpoint"] >= saved.seconds
    assert keras.models.load_model(path).count_params() == 5


def test_weights_alone(keras, fit, recorded, tmp_path):
    path = str(tmp_path / "{epoch}.weights.h5")
    saver = keras.callbacks.ModelCheckpoint(path, save_weights_only=True)
    fit(recorded.callback(), saver)

    saved = recorded.all(facts.Saved)
    assert [fact.path for fact in saved] == [path.format(epoch=e) for e in (1, 2)]


def test_one_that_fails(keras, model, fit, recorded):
    class Tries(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            with pytest.raises(ValueError, match="xyz"):
                self.model.save("no_known_format.xyz")

    fit(recorded.callback(), Tries(), epochs=1)

    saved = recorded.one(facts.Saved)
    assert (saved.ok, saved.size_bytes, saved.callback) == (False, None, "Tries")


def test_after_the_training_nobody_looks(model, fit, recorded, tmp_path):
    fit(recorded.callback(), epochs=1)
    model.save(tmp_path / "model.keras")

    assert recorded.all(facts.Saved) == []
