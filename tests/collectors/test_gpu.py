"""What a GPU tells, through the real pynvml and a library that follows a script."""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from demo.tensorboard_server import wait_until
from tb_health_plugin.cli import doctor
from tb_health_plugin.collectors import gpu as gpu_module
from tb_health_plugin.collectors.collector import SourceUnavailable, Watched
from tb_health_plugin.collectors.gpu import NvidiaGpus
from tb_health_plugin.collectors.nvml_processes import name_of
from tests.nvml import GIB, HEALTHY, StandIn, build

# A process that is not this one: only the watcher asks.
NOT_US = 1
# Trains nothing, has a child and says its number.
FAMILY = """
import subprocess
child = subprocess.Popen(["sleep", "600"])
print(child.pid, flush=True)
child.wait()
"""

SECOND = {
    key.replace("0.", "gpu1_", 1): value
    for key, value in HEALTHY.items()
    if key.startswith("0.")
} | {"gpu1_uuid": "GPU-22222222-bbbb"}


LINKED = {
    "gpu0_nvlink_links": 12,
    "gpu0_nvlink_up": 11,
    "gpu0_nvlink_received": 3,
    "gpu0_nvlink_sent": 2,
    "gpu0_nvlink_replays": 4,
}


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> StandIn:
    made = build(tmp_path_factory.mktemp("nvml"))
    # The next one to ask for a library of this name is given this one.
    ctypes.CDLL(str(made.library), mode=ctypes.RTLD_GLOBAL)
    return made


@pytest.fixture
def nvml(library: StandIn) -> StandIn:
    library.says()
    return library


def gpus(visible: str | None = None) -> NvidiaGpus:
    return NvidiaGpus(Watched(pid=NOT_US, visible_gpus=visible))


def test_every_number_comes_out_as_it_went_in(nvml: StandIn):
    nvml.says(gpu0_fan=30, gpu0_throttle=4, gpu0_xids="48", gpu0_retired=3)

    assert gpus().collect() == {
        "gpu0_lost": 0.0,
        "gpu0_memory_used_bytes": 30.0 * GIB,
        "gpu0_memory_free_bytes": 10.0 * GIB,
        "gpu0_memory_total_bytes": 40.0 * GIB,
        "gpu0_memory_others_bytes": 0.0,
        "gpu0_other_pid": 0.0,
        "gpu0_others_busy_fraction": 0.0,
        "gpu0_busy_fraction": pytest.approx(0.93),
        "gpu0_memory_busy_fraction": pytest.approx(0.41),
        "gpu0_temperature_celsius": 61.0,
        "gpu0_slowdown_celsius": 92.0,
        "gpu0_shutdown_celsius": 95.0,
        "gpu0_power_watts": 250.5,
        "gpu0_power_limit_watts": 400.0,
        "gpu0_sm_clock_hertz": 1.41e9,
        "gpu0_sm_clock_max_hertz": 1.41e9,
        "gpu0_throttle_reasons": 4.0,
        "gpu0_fan_fraction": pytest.approx(0.3),
        "gpu0_performance_state": 0.0,
        "gpu0_ecc_uncorrected_errors": 0.0,
        "gpu0_ecc_corrected_errors": 7.0,
        "gpu0_ecc_lifetime_errors": 2.0,
        "gpu0_remapped_rows": 1.0,
        "gpu0_remap_pending": 0.0,
        "gpu0_remap_failed": 0.0,
        "gpu0_retired_pages": 3.0,
        "gpu0_pcie_replays": 5.0,
        "gpu0_xid": 48.0,
        "gpu0_xid_events": 1.0,
    }


def test_driver_and_card_are_told_once(nvml: StandIn):
    nvml.says(gpu0_retired=0, gpu0_fan=30, **LINKED)

    assert gpus().settings == {
        "gpu.driver": "550.54.15",
        "gpu.cuda": "12.4",
        "gpu.0.name": "NVIDIA A100-SXM4-40GB",
        "gpu.0.uuid": "GPU-11111111-aaaa",
    }


def test_links_to_other_cards(nvml: StandIn):
    nvml.says(**LINKED)

    reading = gpus().collect()

    assert {k: v for k, v in reading.items() if "nvlink" in k} == {
        "gpu0_nvlink_links_up": 11.0,
        "gpu0_nvlink_received_bytes": 3.0 * 1024,
        "gpu0_nvlink_sent_bytes": 2.0 * 1024,
        "gpu0_nvlink_errors": 4.0,
    }


def test_traffic_on_the_bus_comes_later_and_rarely(nvml: StandIn):
    collector = gpus()
    began = [collector.collect()]

    traffic = wait_until(lambda: told(collector, "pcie_received_bytes_per_second"))

    assert "gpu0_pcie_sent_bytes_per_second" not in began[0]
    assert traffic == 8e6
    assert told(collector, "pcie_received_bytes_per_second") is None


def told(collector: NvidiaGpus, name: str) -> float | None:
    return collector.collect().get(f"gpu0_{name}")


def test_values_change_over_time(nvml: StandIn):
    nvml.says("@3 0.temperature=92")
    collector = gpus()

    seen = [collector.collect()["gpu0_temperature_celsius"] for _ in range(4)]

    assert seen == [61.0, 61.0, 92.0, 92.0]


def test_what_is_slow_to_ask_is_asked_rarely(nvml: StandIn):
    collector = gpus()

    asked = ["gpu0_pcie_replays" in collector.collect() for _ in range(11)]

    assert asked == [True, *[False] * 9, True]


@pytest.mark.parametrize("answer", [None, "!4"])
def test_what_a_card_cannot_or_may_not_tell_is_left_out(nvml: StandIn, answer):
    nvml.says(gpu0_busy=answer, gpu0_xids=answer, gpu0_ecc=answer)

    reading = gpus().collect()

    assert "gpu0_busy_fraction" not in reading
    assert "gpu0_xid_events" not in reading
    assert "gpu0_ecc_uncorrected_errors" not in reading
    assert reading["gpu0_temperature_celsius"] == 61.0


@pytest.mark.parametrize(
    ("answer", "name"), [(None, "not_supported"), ("!4", "not_permitted")]
)
def test_what_is_missing_is_named(nvml: StandIn, answer, name: str):
    nvml.says(gpu0_retired=0, gpu0_busy=answer, gpu0_fan=answer, **LINKED)

    assert gpus().settings[f"gpu.0.{name}"] == "busy, fan"


def test_what_a_card_does_not_have_costs_no_columns(nvml: StandIn):
    nvml.says(gpu0_ecc=None)

    columns = gpus().columns

    assert not [name for name in columns if "nvlink" in name or "ecc" in name]
    assert "gpu0_fan_fraction" in columns


def test_several_xids_at_once_are_told_one_by_one(nvml: StandIn):
    collector = gpus()
    collector.collect()
    nvml.says(gpu0_xids="48,63,79")

    seen = [collector.collect() for _ in range(4)]

    assert [one.get("gpu0_xid") for one in seen] == [48.0, 63.0, 79.0, None]
    assert seen[-1]["gpu0_xid_events"] == 3.0


@pytest.mark.parametrize("error", ["!15", "!16"])
def test_a_card_that_is_lost_does_not_hide_the_other(nvml: StandIn, error: str):
    nvml.says(devices=2, **SECOND)
    collector = gpus()
    collector.collect()
    nvml.says(devices=2, gpu0_memory_total=error, gpu0_xids="79", **SECOND)

    reading = collector.collect()

    assert {k: v for k, v in reading.items() if k.startswith("gpu0")} == {
        "gpu0_lost": 1.0,
        "gpu0_xid": 79.0,
        "gpu0_xid_events": 1.0,
    }
    assert reading["gpu1_lost"] == 0.0
    assert reading["gpu1_busy_fraction"] == pytest.approx(0.93)


def test_an_error_of_the_driver_is_one(nvml: StandIn):
    collector = gpus()
    nvml.says(gpu0_temperature="!999")

    with pytest.raises(Exception, match="Unknown Error"):
        collector.collect()

    nvml.says()
    assert collector.collect()["gpu0_temperature_celsius"] == 61.0


class TestADriverThatHangs:
    def test_in_a_reading(self, nvml: StandIn, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(gpu_module, "READ_SECONDS", 0.05)
        collector = gpus()
        nvml.says(gpu0_power="hang")

        for _ in range(2):
            with pytest.raises(TimeoutError, match="driver has not answered"):
                collector.collect()

        nvml.says()
        monkeypatch.setattr(gpu_module, "READ_SECONDS", 10.0)
        assert wait_until(lambda: reading(collector))["gpu0_power_watts"] == 250.5

    def test_from_the_start(self, nvml: StandIn, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(gpu_module, "OPEN_SECONDS", 0.05)
        nvml.says(init="hang")

        collector = gpus()

        assert "gpu0_power_watts" in collector.columns
        with pytest.raises(TimeoutError):
            collector.collect()
        nvml.says()
        assert wait_until(lambda: reading(collector))["gpu0_power_watts"] == 250.5


def reading(collector: NvidiaGpus):
    try:
        return collector.collect()
    except TimeoutError:
        return None


class TestWhoElseHoldsMemory:
    @pytest.fixture
    def family(self) -> Iterator[tuple[int, int]]:
        command = [sys.executable, "-S", "-c", FAMILY]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as trainer:
            child = int(trainer.stdout.readline())
            yield trainer.pid, child
            os.kill(child, signal.SIGKILL)

    def test_another_process(self, nvml: StandIn, family: tuple[int, int]):
        trainer, _ = family
        other = os.getpid()
        nvml.says(gpu0_processes=f"{trainer}:1000,{other}:{3 * GIB}")

        found = NvidiaGpus(Watched(pid=trainer)).collect()

        assert found["gpu0_memory_others_bytes"] == 3.0 * GIB
        assert found["gpu0_other_pid"] == other

    def test_it_is_named_once(self, nvml: StandIn, family: tuple[int, int]):
        trainer, child = family
        nvml.says(gpu0_processes=f"{trainer}:1000,{child}:5,{os.getpid()}:{GIB}")
        collector = NvidiaGpus(Watched(pid=trainer))
        collector.collect()

        (fact,) = collector.news(7.0, 3)

        assert (fact.gpu, fact.pid, fact.memory_bytes) == (0, os.getpid(), GIB)
        assert fact.name == name_of(Path("/proc"), os.getpid())
        assert fact.name
        collector.collect()
        assert collector.news(8.0, 4) == []

    def test_how_busy_they_keep_it(self, nvml: StandIn, family: tuple[int, int]):
        trainer, child = family
        busy = f"{trainer}:50,{child}:10,{os.getpid()}:30"
        nvml.says(gpu0_process_busy=busy)

        found = NvidiaGpus(Watched(pid=trainer)).collect()

        assert found["gpu0_others_busy_fraction"] == pytest.approx(0.3)

    def test_a_child_of_the_training_is_no_other(
        self, nvml: StandIn, family: tuple[int, int]
    ):
        trainer, child = family
        nvml.says(gpu0_processes=f"{trainer}:1000,{child}:2000")

        found = NvidiaGpus(Watched(pid=trainer)).collect()

        assert found["gpu0_memory_others_bytes"] == 0.0

    def test_numbers_of_another_namespace_tell_nothing(self, nvml: StandIn):
        nobody = 2**22 + 1
        nvml.says(gpu0_processes=f"{nobody}:2000")

        assert "gpu0_memory_others_bytes" not in gpus().collect()

    def test_memory_that_cannot_be_told_counts_as_none(self, nvml: StandIn):
        nvml.says(gpu0_processes=f"{os.getpid()}:-")

        assert gpus().collect()["gpu0_memory_others_bytes"] == 0.0


@pytest.mark.parametrize(
    ("comm", "words", "name"),
    [
        ("Xorg", ["/usr/bin/Xorg", ":0"], "Xorg"),
        ("python3", ["python3", "/home/a/train.py", "--key=x"], "python3 train.py"),
        ("python3", ["python3", "-u", "-O", "train.py"], "python3 train.py"),
        (
            "python",
            ["python", "-m", "ipykernel_launcher"],
            "python -m ipykernel_launcher",
        ),
        ("python", ["python", "-c", "secret()"], "python"),
        ("python", ["python", "--key=x", "train.py"], "python"),
        ("python", [], "python"),
    ],
)
def test_names_of_programs_have_no_arguments(tmp_path: Path, comm, words, name):
    (tmp_path / "7").mkdir()
    (tmp_path / "7/comm").write_text(f"{comm}\n")
    (tmp_path / "7/cmdline").write_text("\0".join([*words, ""]))

    assert name_of(tmp_path, 7) == name


class TestWhichAreVisible:
    @pytest.mark.parametrize(
        ("setting", "uuids"),
        [
            (None, ["GPU-11111111-aaaa", "GPU-22222222-bbbb"]),
            ("1", ["GPU-22222222-bbbb"]),
            ("1,0", ["GPU-22222222-bbbb", "GPU-11111111-aaaa"]),
            ("GPU-2222", ["GPU-22222222-bbbb"]),
            ("0,7,1", ["GPU-11111111-aaaa"]),
            ("0,-1,1", ["GPU-11111111-aaaa"]),
        ],
    )
    def test_as_cuda_reads_it(self, nvml: StandIn, setting, uuids):
        nvml.says(devices=2, **SECOND)

        collector = gpus(setting)

        found = [v for k, v in collector.settings.items() if k.endswith("uuid")]
        assert found == uuids
        lost = [name for name in collector.columns if name.endswith("_lost")]
        assert lost == [f"gpu{place}_lost" for place in range(len(uuids))]

    @pytest.mark.parametrize("setting", ["", "-1", "9", "0,0", "GPU-", "none"])
    def test_none(self, nvml: StandIn, setting: str):
        nvml.says(devices=2, **SECOND)

        with pytest.raises(SourceUnavailable, match="CUDA_VISIBLE_DEVICES is"):
            gpus(setting)

    def test_a_part_of_a_card(self, nvml: StandIn):
        parts = [
            "0.mig=1",
            "0.mig0.uuid=MIG-one",
            "0.mig1.uuid=MIG-two",
            f"0.mig1.memory_total={5 * GIB}",
            f"0.mig1.memory_used={2 * GIB}",
        ]
        nvml.says(*parts)

        reading = gpus("MIG-two").collect()

        # Memory is the part's, heat the card's; how busy a part is, NVML cannot tell.
        assert reading["gpu0_memory_total_bytes"] == 5.0 * GIB
        assert reading["gpu0_temperature_celsius"] == 61.0
        assert "gpu0_busy_fraction" not in reading


class TestNoGpu:
    @pytest.mark.parametrize("changes", [{"init": "!9"}, {"devices": 0}])
    def test_is_no_error(self, nvml: StandIn, changes):
        nvml.says(**changes)

        with pytest.raises(SourceUnavailable, match=r"^no NVIDIA GPU$"):
            gpus()

    @pytest.mark.parametrize("changes", [{"devices": "!999"}, {"init": "!999"}])
    def test_a_driver_that_fails_is_told(self, nvml: StandIn, changes):
        nvml.says(**changes)

        with pytest.raises(SourceUnavailable, match=r"NVIDIA's driver .*Unknown"):
            gpus()

    def test_a_card_that_was_lost_before_does_not_hide_the_other(self, nvml: StandIn):
        nvml.says(devices=2, gpu0_handle="!15", **SECOND)

        assert gpus().settings["gpu.0.uuid"] == "GPU-22222222-bbbb"

    def test_a_driver_that_refuses_is_told(self, nvml: StandIn):
        nvml.says(init="!4")

        with pytest.raises(SourceUnavailable, match="Insufficient Permissions"):
            gpus()

    @pytest.mark.parametrize(
        ("path", "maker"),
        [("dev/kfd", "AMD"), ("dev/accel0", "TPU"), ("dev/vfio/0", "TPU")],
    )
    def test_another_makers_has_no_collector(
        self, nvml: StandIn, tmp_path: Path, path: str, maker: str
    ):
        nvml.says(init="!9")
        (tmp_path / "proc").mkdir()
        file = tmp_path / path
        file.parent.mkdir(parents=True)
        file.touch()

        with pytest.raises(SourceUnavailable, match=rf"no collector .*{maker}"):
            NvidiaGpus(Watched(pid=NOT_US, root=tmp_path))

    def test_a_mac(self, tmp_path: Path):
        (tmp_path / "System/Library/Frameworks/Metal.framework").mkdir(parents=True)

        with pytest.raises(SourceUnavailable, match=r"no collector .*Mac"):
            NvidiaGpus(Watched(pid=NOT_US, root=tmp_path))

    @pytest.mark.parametrize(
        ("changes", "visible", "state", "found"),
        [
            (
                {},
                None,
                "ok",
                "measured: NVIDIA A100-SXM4-40GB (driver 550.54.15, CUDA 12.4)",
            ),
            (
                {"devices": 2, **SECOND},
                None,
                "ok",
                "measured: 2 x NVIDIA A100-SXM4-40GB (driver 550.54.15, CUDA 12.4)",
            ),
            ({"init": "!9"}, None, "missing", "no NVIDIA GPU"),
            (
                {"init": "!4"},
                None,
                "missing",
                "NVIDIA's driver refused: Insufficient Permissions",
            ),
            (
                {},
                "",
                "missing",
                "the training may see none: CUDA_VISIBLE_DEVICES is ''",
            ),
            (
                {"gpu0_memory_total": "!999"},
                None,
                "broken",
                "NVMLError_Unknown: Unknown Error",
            ),
        ],
    )
    def test_the_doctor_says_it_beforehand(
        self, nvml: StandIn, monkeypatch, changes, visible, state: str, found: str
    ):
        nvml.says(**changes)
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        if visible is not None:
            monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)

        checks = {check.what: check for check in doctor.examine()}

        assert (checks["GPU"].state, checks["GPU"].found) == (state, found)

    def test_the_process_that_trains_never_asks(self, nvml: StandIn):
        with pytest.raises(SourceUnavailable, match="only asked by the watcher"):
            NvidiaGpus(Watched(pid=os.getpid()))
