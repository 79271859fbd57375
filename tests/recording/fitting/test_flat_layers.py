"""The layers of real models, in order."""

import pytest

from tb_health_plugin.recording.fitting.flat_layers import flat_layers, named_layers

keras = pytest.importorskip("keras")
layers = keras.layers

pytestmark = pytest.mark.live


def names(model) -> list[str]:
    return [path for path, _ in named_layers(model)]


def test_a_sequential_model_is_its_layers_without_the_input():
    model = keras.Sequential(
        [keras.Input((4,)), layers.Dense(3, name="a"), layers.Dense(1, name="b")]
    )

    assert names(model) == ["a", "b"]
    assert flat_layers(model) == model.layers


def test_models_inside_models_are_opened():
    inner = keras.Sequential([keras.Input((4,)), layers.Dense(3, name="d")], name="in")
    middle = keras.Sequential([keras.Input((4,)), inner], name="middle")
    x = keras.Input((4,))
    model = keras.Model(x, layers.Dense(1, name="top")(middle(x)))

    assert names(model) == ["middle/in/d", "top"]


def test_a_layer_used_twice_is_told_once():
    shared = layers.Dense(4, name="shared")
    x = keras.Input((4,))
    model = keras.Model(x, layers.Add(name="sum")([shared(x), shared(shared(x))]))

    assert names(model) == ["shared", "sum"]


def test_layers_that_wrap_others_count_as_one():
    model = keras.Sequential(
        [
            keras.Input((5, 4)),
            layers.Bidirectional(layers.LSTM(2, return_sequences=True), name="both"),
            layers.TimeDistributed(layers.Dense(1), name="each"),
        ]
    )

    assert names(model) == ["both", "each"]


def test_a_model_of_ones_own_tells_its_attributes_before_it_is_built():
    class Own(keras.Model):
        def __init__(self):
            super().__init__()
            self.first = layers.Dense(2, name="first")
            self.inner = keras.Sequential([layers.Dense(2, name="d")], name="inner")
            self.rest = [layers.Dense(1, name="r0"), layers.Dense(1, name="r1")]

    assert names(Own()) == ["first", "inner/d", "r0", "r1"]
