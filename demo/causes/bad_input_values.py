"""One row of the data has no target; from that batch on the whole model is NaN.

python demo/causes/bad_input_values.py logs/bad_input_values
"""

import sys

import numpy as np
from _task import data, model

from tb_health_plugin import HealthCallback


def main(logdir: str) -> None:
    x, y = data()
    y[3_000] = np.nan
    callbacks = [HealthCallback(logdir)]
    model().fit(x, y, epochs=4, shuffle=False, verbose=2, callbacks=callbacks)


if __name__ == "__main__":
    main(*sys.argv[1:])
