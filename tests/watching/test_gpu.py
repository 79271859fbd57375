"""From NVIDIA's library to the tab's GPU lane, by way of a real watcher."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from demo.tensorboard_server import wait_until
from tb_health_plugin.events import facts
from tb_health_plugin.reading.run_history import RunHistory
from tb_health_plugin.server.lanes import drawn_lanes
from tests.nvml import GIB, StandIn, build
from tests.watching.conftest import ROOT, command, read, wait_for_end

pytestmark = pytest.mark.live


@pytest.fixture
def nvml(tmp_path: Path) -> StandIn:
    folder = tmp_path / "nvml"
    folder.mkdir()
    return build(folder)


@pytest.fixture
def train(tmp_path: Path, nvml: StandIn):
    """Starts an endless training on a machine with these GPUs; ends it."""
    started = []

    def start(**environment: str) -> Path:
        logdir = tmp_path / "run"
        process = subprocess.Popen(
            command(logdir, "endless"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=ROOT,
            env={**os.environ, "LD_LIBRARY_PATH": str(nvml.folder), **environment},
        )
        started.append(process)
        wait_until(lambda: (logdir / "plugins/health").is_dir() and samples(logdir) > 3)
        return logdir

    yield start
    for process in started:
        process.kill()
        process.wait()
    wait_for_end(tmp_path / "run")


def samples(logdir: Path) -> int:
    try:
        return len(read(logdir).samples)
    except ValueError:
        # The directory is there and the attempt in it is not yet.
        return 0


def test_what_the_card_says_is_in_the_lane(train, nvml: StandIn):
    logdir = train()
    before = samples(logdir)
    nvml.says(gpu0_busy=12, gpu0_xids="79")
    wait_until(lambda: samples(logdir) > before + 3)

    attempt = read(logdir)
    busy = attempt.samples.column("gpu0_busy_fraction")
    assert busy[0] == pytest.approx(0.93)
    assert busy[-1] == pytest.approx(0.12)
    assert 79.0 in attempt.samples.column("gpu0_xid")
    assert attempt.start.settings["gpu.0.name"] == "NVIDIA A100-SXM4-40GB"
    lanes = drawn_lanes(RunHistory("run", [attempt]))
    assert lanes["gpu"].columns == ["gpu0_busy_fraction"]
    assert lanes["gpu_memory"].columns == ["gpu0_memory_used_bytes"]
    (limit,) = lanes["gpu_memory"].lane.limits(lanes["gpu_memory"].table)
    assert (limit.value, limit.label) == (40.0 * GIB, "all 40.0 GiB")


def test_a_driver_that_hangs_stops_nothing_else(train, nvml: StandIn):
    logdir = train()
    nvml.says(gpu0_power="hang")

    def told() -> list[facts.RecordingStopped]:
        return read(logdir).all(facts.RecordingStopped)

    wait_until(told)
    before = samples(logdir)
    wait_until(lambda: samples(logdir) > before + 3)

    (gap,) = told()
    assert (gap.what, gap.resumed) == ("GPU", False)
    assert "driver has not answered" in gap.why
    table = read(logdir).samples
    assert np.isnan(table.column("gpu0_power_watts")[-1])
    assert table.column("process_rss_bytes")[-1] > 0
    nvml.says()
    wait_until(lambda: [one.resumed for one in told()] == [False, True])


def test_gpus_that_the_training_hides_are_not_measured(train):
    start = read(train(CUDA_VISIBLE_DEVICES="")).start

    (missing,) = [one for one in start.not_recorded if one.what == "GPU"]
    assert missing.why == "the training may see none: CUDA_VISIBLE_DEVICES is ''"
