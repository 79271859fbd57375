"""A training with a slow callback, stopped by what is found in it."""

import json
import sys
import time

import keras
import numpy as np

from tb_health_plugin import HealthCallback

logdir, heard = sys.argv[1:]
APPENDS = "import sys; open(sys.argv[1], 'a').write(sys.stdin.read() + chr(10))"


class Slow(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.05)


x = np.random.default_rng(0).normal(size=(800, 4)).astype("float32")
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
health = HealthCallback(
    logdir,
    stop_on=["slow_callback"],
    on_finding=[sys.executable, "-c", APPENDS, heard],
)
callbacks = [Slow(), health]
done = model.fit(x, x[:, :1], batch_size=8, epochs=40, verbose=0, callbacks=callbacks)
sys.stdout.write(json.dumps({"stopped_after": len(done.epoch)}))
