"""TensorFlow's own view of GPU memory, told by a stand-in for its public functions.

This machine has no GPU: `tf.config` is the thing that is replaced, and nothing else.
"""

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from tb_health_plugin.recording.fitting.gpu_memory import GpuMemory, gpu_settings
from tests.recording.fitting.fake_fit import fake_fit

MIB = 1 << 20


class FakeTensorFlow:
    """`tf.config` of a machine with GPUs; `asked` counts questions about memory."""

    def __init__(self, gpus: int = 1, hidden: int = 0) -> None:
        self.devices = [SimpleNamespace(name=f"GPU:{n}") for n in range(gpus)]
        self.hidden = [SimpleNamespace(name="hidden")] * hidden
        self.used, self.peak, self.asked = 10 * MIB, 20 * MIB, 0
        self.grows: bool | None = None
        self.parts: list[Any] | None = None
        self.sysconfig: Any = SimpleNamespace(
            get_build_info=lambda: {"is_cuda_build": True}
        )
        self.config = SimpleNamespace(
            get_visible_devices=lambda kind: self.devices,
            list_physical_devices=lambda kind: [*self.devices, *self.hidden],
            get_logical_device_configuration=lambda device: self.parts,
            experimental=SimpleNamespace(
                get_memory_info=self.memory, get_memory_growth=lambda one: self.grows
            ),
        )

    def memory(self, device: str) -> dict[str, int]:
        self.asked += 1
        if device not in [one.name for one in self.devices]:
            raise ValueError(f"No matching devices found for '{device}'")
        return {"current": self.used, "peak": self.peak}


@pytest.fixture
def tf(monkeypatch: pytest.MonkeyPatch) -> FakeTensorFlow:
    made = FakeTensorFlow()
    monkeypatch.setitem(sys.modules, "tensorflow", made)
    return made


def training(step: int = 0, variables: object = ("kernel",)) -> Any:
    fit = fake_fit(SimpleNamespace(variables=variables))
    fit.recorder.progress = SimpleNamespace(step=step)
    return fit


def told(fit: Any) -> list[tuple[int, float, float]]:
    return [(one.gpu, one.used_bytes, one.peak_bytes) for one in fit.recorder.facts]


def test_use_and_peak_are_told(tf: FakeTensorFlow):
    fit = training()
    GpuMemory(fit).tell(now=0.0, at_once=True)

    assert told(fit) == [(0, 10.0 * MIB, 20.0 * MIB)]
    assert fit.recorder.facts[0].limit_bytes is None


def test_each_gpu_for_itself(tf: FakeTensorFlow):
    tf.devices.append(SimpleNamespace(name="GPU:1"))
    fit = training()
    GpuMemory(fit).tell(now=0.0, at_once=True)

    assert [gpu for gpu, _, _ in told(fit)] == [0, 1]


def test_a_limit_of_the_program_is_told(tf: FakeTensorFlow):
    tf.parts = [SimpleNamespace(memory_limit=2048)]
    fit = training()
    GpuMemory(fit).tell(now=0.0, at_once=True)

    assert fit.recorder.facts[0].limit_bytes == 2048.0 * MIB


def test_a_peak_is_told_when_it_grows_and_now_and_then(tf: FakeTensorFlow):
    fit = training()
    memory = GpuMemory(fit)
    for now, peak in ((0.0, 20), (5.0, 20), (10.0, 30), (15.0, 30), (75.0, 30)):
        tf.peak = peak * MIB
        memory.tell(now=now)

    assert [peak / MIB for _, _, peak in told(fit)] == [20, 30, 30]


def test_tensorflow_that_has_not_begun_is_not_woken(tf: FakeTensorFlow):
    fit = training(variables=())
    memory = GpuMemory(fit)
    memory.tell(now=0.0, at_once=True)

    assert tf.asked == 0
    fit.recorder.progress.step = 1
    memory.tell(now=1.0, at_once=True)
    assert len(told(fit)) == 1


def test_without_a_gpu_it_is_never_asked_again(tf: FakeTensorFlow):
    tf.devices.clear()
    fit = training()
    memory = GpuMemory(fit)
    memory.tell(now=0.0, at_once=True)
    tf.devices.append(SimpleNamespace(name="GPU:0"))
    memory.tell(now=1.0, at_once=True)

    assert (tf.asked, told(fit)) == (0, [])


@pytest.mark.parametrize(
    "error", [ValueError("no such device"), RuntimeError("no stats"), TypeError("x")]
)
def test_an_allocator_that_keeps_no_account(tf: FakeTensorFlow, error: Exception):
    def refuse(device: str) -> dict[str, int]:
        raise error

    tf.config.experimental.get_memory_info = refuse
    fit = training()
    GpuMemory(fit).tell(now=0.0, at_once=True)

    assert told(fit) == []


def test_another_framework(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    fit = training()
    GpuMemory(fit).tell(now=0.0, at_once=True)

    assert told(fit) == []


class TestSettings:
    def test_of_a_machine_with_a_gpu(self):
        tf = FakeTensorFlow()
        tf.grows = True

        assert gpu_settings(tf) == {
            "gpus": "1",
            "gpus.physical": "1",
            "gpus.cuda_build": "True",
            "gpus.memory_growth": "True",
            "gpus.memory_limit_bytes": None,
        }

    def test_nobody_asked_for_growth(self):
        assert gpu_settings(FakeTensorFlow())["gpus.memory_growth"] == "False"

    def test_gpus_that_the_program_hides(self):
        assert gpu_settings(FakeTensorFlow(gpus=0, hidden=2)) == {
            "gpus": "0",
            "gpus.physical": "2",
            "gpus.cuda_build": "True",
        }

    def test_a_build_that_does_not_say_what_it_is(self):
        tf = FakeTensorFlow()
        tf.sysconfig = None

        assert "gpus.cuda_build" not in gpu_settings(tf)

    def test_a_gpu_split_by_the_program(self):
        tf = FakeTensorFlow()
        tf.parts = [SimpleNamespace(memory_limit=1), SimpleNamespace(memory_limit=2)]

        assert gpu_settings(tf)["gpus.memory_limit_bytes"] == str(3 * MIB)
