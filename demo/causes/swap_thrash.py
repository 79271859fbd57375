"""All rows are held in memory at once, and there is not enough of it: it is swapped.

python demo/causes/swap_thrash.py logs/swap_thrash

Needs root: the little memory and the slow swap are those that this script makes.
"""

import sys

from _devices import swapping

MEMORY_MIB = 350
READS_PER_SECOND = 300
ROWS, FEATURES = 40_000, 4_096


def main(logdir: str) -> None:
    import keras
    import numpy as np

    from tb_health_plugin import HealthCallback

    keras.utils.set_random_seed(1)

    class Rows(keras.utils.PyDataset):
        """Picks rows from all over a table that does not fit into memory."""

        def __init__(self, table):
            super().__init__()
            self.table = table
            self.rng = np.random.default_rng(1)

        def __len__(self):
            return 15

        def __getitem__(self, index):
            x = self.table[self.rng.integers(0, len(self.table), 128)]
            return x, x[:, :1]

    model = keras.Sequential([keras.Input((FEATURES,)), keras.layers.Dense(1)])
    model.compile(keras.optimizers.Adam(1e-4), "mse")
    with swapping(MEMORY_MIB, READS_PER_SECOND):
        table = np.random.default_rng(0).random((ROWS, FEATURES), "float32")
        model.fit(Rows(table), epochs=2, verbose=2, callbacks=[HealthCallback(logdir)])


if __name__ == "__main__":
    main(*sys.argv[1:])
