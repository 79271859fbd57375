"""A Keras training that EarlyStopping ends, with our hook or without it.

python -m tests.watching.stopped_early [LOGDIR]
"""

import sys

import keras
import numpy as np

x = np.ones((64, 4), "float32")
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
callbacks: list[keras.callbacks.Callback] = [
    keras.callbacks.EarlyStopping("loss", patience=2, min_delta=1e9)
]
if len(sys.argv) > 1:
    from tb_health_plugin import HealthCallback

    callbacks.append(HealthCallback(sys.argv[1]))
model.fit(x, x[:, :1], batch_size=8, epochs=50, verbose=0, callbacks=callbacks)
