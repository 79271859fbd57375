"""A reader of the pages: a folder with recorded runs and a program, and a shell."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests import runs
from tests.docs.pages import ROOT

RECORDED = {
    "healthy": "healthy",
    "crashed": "lr_too_high",
    "run1": "memory_leak",
}
# Started by somebody else's program, which does what it is known for.
STAND_INS = {"srun": 'exec "$@"'}
PROGRAM = 'import sys\nprint("trained", *sys.argv[1:])\n'


def furnish(folder: Path) -> None:
    """Puts into a folder what a reader has there."""
    for name, recorded in RECORDED.items():
        shutil.copytree(runs.HERE / recorded, folder / "logs" / name)
    (folder / "train.py").write_text(PROGRAM)
    (folder / "broken.py").write_text(PROGRAM)
    programs = folder / "bin"
    programs.mkdir()
    for name, script in STAND_INS.items():
        (programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (programs / name).chmod(0o755)


def run_in_shell(command: str, folder: Path) -> int:
    """What a real shell makes of it, there; its exit status."""
    beside = Path(sys.executable).parent
    environment = {
        **os.environ,
        "PATH": f"{folder / 'bin'}:{beside}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "SLURM_JOB_ID": "7",
    }
    return subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment, check=False
    ).returncode
