"""A machine with NVIDIA GPUs that exist in a text file; `standin.c` says how."""

import shutil
import subprocess
from pathlib import Path

import pytest

LIBRARY = "libnvidia-ml.so.1"
GIB = 1 << 30

# A card that is at work and well.
HEALTHY = {
    "devices": 1,
    "driver": "550.54.15",
    "cuda": 12040,
    "0.name": "NVIDIA A100-SXM4-40GB",
    "0.uuid": "GPU-11111111-aaaa",
    "0.memory_total": 40 * GIB,
    "0.memory_used": 30 * GIB,
    "0.busy": 93,
    "0.memory_busy": 41,
    "0.temperature": 61,
    "0.slowdown": 92,
    "0.shutdown": 95,
    "0.power": 250_500,
    "0.power_limit": 400_000,
    "0.sm_clock": 1_410,
    "0.sm_clock_max": 1_410,
    "0.throttle": 0,
    "0.state": 0,
    "0.ecc": 0,
    "0.ecc_corrected": 7,
    "0.ecc_lifetime": 2,
    "0.remapped": 1,
    "0.remap_failed": 0,
    "0.replays": 5,
    "0.pcie_received": 8_000,
    "0.pcie_sent": 2_000,
    "0.processes": "",
    "0.process_busy": "",
    "0.xids": "",
}


class StandIn:
    """The library in a folder, and the script that it follows."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.library = folder / LIBRARY

    def says(self, *later: str, **changes: object) -> None:
        """A healthy card but for these; `gpu0_busy` stands for the key `0.busy`.

        Args:
            later: Lines as in `@3 0.busy=0`.
            changes: None takes an answer away.
        """
        keys = {key.replace("gpu", "", 1).replace("_", ".", 1): key for key in changes}
        new = {
            key if key[0].isdigit() else was: changes[was] for key, was in keys.items()
        }
        lines = [f"{k}={v}" for k, v in {**HEALTHY, **new}.items() if v is not None]
        # At once: the library must never see half of it.
        draft = self.folder / "draft.txt"
        draft.write_text("\n".join([*lines, *later, ""]))
        draft.replace(self.folder / "script.txt")


def build(folder: Path, *, old_driver: bool = False) -> StandIn:
    """Compiles the library; skips the test where there is no compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler to build the stand-in for NVIDIA's library with")
    made = StandIn(folder)
    flags = ["-DOLD_DRIVER"] if old_driver else []
    source = str(Path(__file__).with_name("standin.c"))
    command = [compiler, "-shared", "-fPIC", f"-Wl,-soname,{LIBRARY}", *flags, source]
    subprocess.run([*command, "-o", str(made.library), "-ldl"], check=True)
    made.says()
    return made
