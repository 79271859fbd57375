"""A training whose data is slow, stopped by what is found in it."""

import json
import sys
import time

import keras
import numpy as np
import tensorflow as tf

from tb_health_plugin import HealthCallback

logdir, heard = sys.argv[1:]
APPENDS = "import sys; open(sys.argv[1], 'a').write(sys.stdin.read() + chr(10))"


def slow_batches():
    for number in range(100):
        time.sleep(0.05)
        x = np.random.default_rng(number).normal(size=(8, 4)).astype("float32")
        yield x, x[:, :1]


shapes = (tf.TensorSpec((8, 4)), tf.TensorSpec((8, 1)))
data = tf.data.Dataset.from_generator(slow_batches, output_signature=shapes)
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
health = HealthCallback(
    logdir,
    stop_on=["input_bound"],
    on_finding=[sys.executable, "-c", APPENDS, heard],
)
done = model.fit(data, epochs=40, verbose=0, callbacks=[health])
sys.stdout.write(json.dumps({"stopped_after": len(done.epoch)}))
