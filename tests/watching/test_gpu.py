"""GPUs of a stand-in, as a real watcher sees them."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from demo.tensorboard_server import wait_until
from tb_health_plugin.events import facts
from tests.nvml import StandIn, build
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
