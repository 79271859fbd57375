"""From NVIDIA's library to the answer that the GPU lane of the tab is drawn from."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from demo.tensorboard_server import TensorBoardServer, tensorboard, wait_until
from tests.nvml import GIB, build

pytestmark = pytest.mark.live

HEALTH = "/data/plugin/health"
ROOT = Path(__file__).parents[2]
# Says at its end which modules the trainer has loaded that talk to a driver.
TRAINER = """
import sys
from tests.watching import trainer
# Long enough for a dozen samples, also on a machine that is quick.
trainer.STEPS = 2_000
trainer.main(sys.argv[1], "finished")
loaded = [name for name in sys.modules if "nvml" in name]
maps = open("/proc/self/maps").read()
print("loaded", loaded, "libnvidia-ml" in maps)
"""


def test_values_in_values_out(tmp_path: Path):
    nvml = tmp_path / "nvml"
    nvml.mkdir()
    later = ("busy=12", "temperature=77", "power=100000", "xids=79")
    build(nvml).says(*[f"@3 0.{word}" for word in later])
    logdir = tmp_path / "logs"
    trained = subprocess.run(
        [sys.executable, "-c", TRAINER, str(logdir / "run")],
        check=True,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "LD_LIBRARY_PATH": str(nvml)},
    )

    # Only the watcher ever speaks to the driver.
    assert trained.stdout.splitlines()[-1] == "loaded [] False"
    with tensorboard(["--logdir", str(logdir), "--reload_interval=1"]) as server:
        wait_until(lambda: server.json(f"{HEALTH}/runs")["runs"], seconds=60)
        busy = lane(server, "gpu")
        used = lane(server, "gpu_memory")
        heat = lane(server, "gpu_temperature")
        power = lane(server, "gpu_power")
        bus = server.json(f"{HEALTH}/lane?run=run&lane=gpu_bus")["series"]
        story = server.json(f"{HEALTH}/run?run=run")
    assert busy[0] == pytest.approx(0.93)
    assert busy[-1] == pytest.approx(0.12)
    assert set(used) == {30.0 * GIB}
    assert heat[-1] == 77.0
    assert (power[0], power[-1]) == (250.5, 100.0)
    assert [set(one["mean"]) for one in bus] == [{8e6}, {2e6}]
    assert (story["verdict"]["id"], story["verdict"]["detail"]) == (
        "gpu_fault",
        "xid 79",
    )
    limits = {one["id"]: [n["value"] for n in one["limits"]] for one in story["lanes"]}
    assert limits["gpu_memory"] == [40.0 * GIB]
    assert limits["gpu_temperature"] == [92.0]
    assert limits["gpu_power"] == [400.0]


def lane(server: TensorBoardServer, name: str) -> list[float]:
    """What the only series of a lane has, where there is something."""
    (series,) = server.json(f"{HEALTH}/lane?run=run&lane={name}")["series"]
    return [value for value in series["mean"] if value is not None]
