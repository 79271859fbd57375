"""Attaches Training Health to a case; the cases import this file by its name.

With CASES_SEED=N every seed that a case sets is N higher, so that one script gives
several trainings.
"""

import contextlib
import os

import tb_health_plugin


def _shift_seeds(by):
    import keras
    import numpy as np

    set_seed, default_rng = keras.utils.set_random_seed, np.random.default_rng

    def shifted_rng(seed=None):
        return default_rng(seed + by if isinstance(seed, int) else seed)

    keras.utils.set_random_seed = lambda seed: set_seed(seed + by)
    np.random.default_rng = shifted_rng


if os.environ.get("CASES_SEED"):
    _shift_seeds(int(os.environ["CASES_SEED"]))


def hook_callbacks(logdir=None):
    return [tb_health_plugin.HealthCallback(logdir)] if logdir else []


@contextlib.contextmanager
def hook_loop(model=None, optimizer=None, logdir=None):
    if not logdir:
        yield lambda step=None, loss=None, **more: None
        return
    with tb_health_plugin.watch(logdir, model=model, optimizer=optimizer) as health:
        yield lambda step=None, loss=None, **more: health.step(loss=loss)
