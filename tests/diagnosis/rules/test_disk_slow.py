"""Writing that takes the time, and writing that does not."""

import numpy as np

from tb_health_plugin.diagnosis.rules.disk_slow import RULE
from tb_health_plugin.diagnosis.verdict import Verdict
from tb_health_plugin.events import facts
from tests.diagnosis.rules.histories import (
    MIB,
    START,
    ask,
    seconds_of,
    time_spent,
    training_ended,
    training_started,
)

COUNT = 40


def saves(seconds, size):
    """A save at the end of each 10 seconds."""
    return [
        facts.Saved(
            wall_time=START + 10.0 * (number + 1),
            step=20 * (number + 1),
            training=0,
            path="/net/last.keras",
            seconds=seconds,
            size_bytes=size,
            ok=True,
            callback="ModelCheckpoint",
        )
        for number in range(4)
    ]


def run(*told, cores, callbacks=None, **columns):
    spent = {"seconds": 10.0, "steps": 20, "callback_seconds": callbacks or {}}
    samples = {
        "wall_time": seconds_of(COUNT),
        "tree_cpu_seconds": np.cumsum(np.broadcast_to(cores, COUNT)),
        **columns,
    }
    return ask(
        RULE,
        training_started(),
        *time_spent([spent] * 4),
        *told,
        training_ended(COUNT, 80),
        samples=samples,
    )


def per_second(amount):
    return [amount * second for second in range(COUNT)]


def test_saves_that_wait_for_the_disk():
    found = run(*saves(5.0, 20 * MIB), cores=0.1)

    assert isinstance(found, Verdict)
    assert found.detail == "ModelCheckpoint"
    assert found.headline == (
        "50% of the time went into saving the model, at 4.0 MiB a second"
    )


def test_a_callback_that_writes_and_waits():
    found = run(
        cores=0.1,
        callbacks={"Dump": 6.0},
        tree_write_bytes=per_second(3e6),
        pressure_io_full_seconds=per_second(0.5),
    )

    assert isinstance(found, Verdict)
    assert found.detail == "Dump"
    assert "slow_callback" in found.explains


class TestHealthy:
    def test_saves_that_compute(self):
        assert run(*saves(5.0, 20 * MIB), cores=1.0) is None

    def test_large_models_saved_fast(self):
        assert run(*saves(5.0, 2_000 * MIB), cores=0.1) is None

    def test_short_saves(self):
        assert run(*saves(0.4, MIB), cores=0.1) is None

    def test_a_callback_that_sleeps(self):
        found = run(cores=0.1, callbacks={"Wait": 6.0}, tree_write_bytes=per_second(0))

        assert found is None

    def test_a_callback_that_writes_fast(self):
        found = run(
            cores=0.9,
            callbacks={"Dump": 6.0},
            tree_write_bytes=per_second(3e8),
            pressure_io_full_seconds=per_second(0.0),
        )

        assert found is None

    def test_nothing_was_recorded(self):
        assert ask(RULE) is None
