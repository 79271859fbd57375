"""Where the gate cannot stand, it is said what is not measured."""

import pytest

pytest.importorskip("keras")

from tb_health_plugin.recording.fitting import step_gate
from tests.recording.fitting.fake_fit import fake_fit


def test_of_an_older_keras_it_is_said_what_is_not_measured(monkeypatch):
    fit = fake_fit()
    fit.recorder.recording_stopped = fit.recorder.fault
    monkeypatch.setattr(step_gate.keras, "__version__", "3.6.0")

    assert step_gate.step_gate(fit) is None

    ((what, why),) = fit.recorder.faults
    assert "waits for data" in what
    assert why == "it needs Keras 3.8 or newer, and this is 3.6.0"
