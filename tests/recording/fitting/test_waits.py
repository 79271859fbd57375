"""The wait for data against sleeps that are known, whatever the data comes from.

How near they are is measured by `bench/wait_truth.py`: on a busy machine steps take
long, and data that is fetched ahead sleeps meanwhile.
"""

import time

import numpy as np
import pytest

keras = pytest.importorskip("keras")
tf = pytest.importorskip("tensorflow")
pytestmark = pytest.mark.live

from tests.recording.fitting.gated import Gated  # noqa: E402

X, Y = np.ones((8, 4), "float32"), np.ones((8, 1), "float32")
BATCHES, SECONDS = 12, 0.05


class Source:
    """Sleeps before each batch, and notes when it did."""

    def __init__(self) -> None:
        self.slept: list[tuple[float, float]] = []

    def sleep(self) -> None:
        began = time.perf_counter()
        time.sleep(SECONDS)
        self.slept.append((began, time.perf_counter()))

    def generator(self):
        for _ in range(BATCHES):
            self.sleep()
            yield X, Y

    def dataset(self):
        spec = (tf.TensorSpec([8, 4]), tf.TensorSpec([8, 1]))
        return tf.data.Dataset.from_generator(self.generator, output_signature=spec)

    def mapped(self):
        def slow(x):
            self.sleep()
            return x

        pairs = tf.data.Dataset.from_tensors((X, Y)).repeat(BATCHES)
        return pairs.map(
            lambda x, y: (
                tf.ensure_shape(tf.numpy_function(slow, [x], "float32"), x.shape),
                y,
            )
        )

    def py_dataset(self):
        return Rows(self)

    def workers(self):
        return Rows(self, workers=2, max_queue_size=1)


class Rows(keras.utils.PyDataset):
    def __init__(self, source: Source, **options) -> None:
        super().__init__(**options)
        self._source = source

    def __len__(self) -> int:
        return BATCHES

    def __getitem__(self, index):
        self._source.sleep()
        return X, Y


class Steps(Gated):
    """Notes when the first step ended: from then on, all waits are its own."""

    first_at = 0.0
    waited_before = 0.0
    last_at = 0.0

    def on_train_batch_end(self, batch, logs=None) -> None:
        super().on_train_batch_end(batch, logs)
        self.last_at = time.perf_counter()
        if not self.first_at:
            self.first_at = self.last_at
            self.waited_before = self.fit.spent.wait_seconds


@pytest.fixture(scope="module")
def model():
    made = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    made.compile("sgd", "mse")
    made.fit(X, Y, verbose=0)
    return made


@pytest.mark.filterwarnings("ignore:.*ran out of data:UserWarning")
@pytest.mark.parametrize("kind", ["generator", "dataset", "mapped", "py_dataset"])
def test_steps_wait_as_long_as_their_data_sleeps(model, kind: str):
    source, steps = Source(), Steps()

    model.fit(
        getattr(source, kind)(), epochs=1, shuffle=False, verbose=0, callbacks=[steps]
    )

    waited = steps.fit.spent.wait_seconds - steps.waited_before
    # Between the first step and the last, nothing else is fetched for.
    within = [
        b - a for a, b in source.slept if a > steps.first_at and b < steps.last_at
    ]
    assert len(within) >= BATCHES - 3
    assert 0.5 * sum(within) <= waited <= steps.last_at - steps.first_at


@pytest.mark.filterwarnings("ignore:.*ran out of data:UserWarning")
def test_with_workers_steps_wait_only_while_no_batch_is_ready(model):
    source, steps = Source(), Steps()

    model.fit(source.workers(), epochs=1, shuffle=False, verbose=0, callbacks=[steps])

    waited = steps.fit.spent.wait_seconds - steps.waited_before
    assert 0 < waited <= steps.last_at - steps.first_at


def test_arrays_are_there_at_once(model):
    steps = Steps()

    model.fit(np.tile(X, (40, 1)), np.tile(Y, (40, 1)), 8, verbose=0, callbacks=[steps])

    spent = steps.fit.spent
    assert 0 < spent.wait_seconds < spent.wait_seconds + spent.step_seconds
