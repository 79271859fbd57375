"""Limits that are known as a process starts."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tb_health_plugin.recording.time_limits import duration_of, limit_settings

ASK = (
    "import os, time\n"
    "from tb_health_plugin.recording.time_limits import limit_settings\n"
    "print(limit_settings({}, now=time.time()))\n"
)


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        (["30", "python"], 30.0),
        (["1.5h", "python"], 5_400.0),
        (["2m", "python", "9"], 120.0),
        (["-k", "5", "30s", "python"], 30.0),
        (["--kill-after=5", "-s", "KILL", "--foreground", "1d", "x"], 86_400.0),
        (["0", "python"], None),
        (["python"], None),
        ([], None),
    ],
)
def test_what_timeout_was_given(words: list[str], seconds: float | None):
    assert duration_of(words) == seconds


def asked_under(*prefix: str) -> dict[str, str]:
    done = subprocess.run(
        [*prefix, sys.executable, "-c", ASK], capture_output=True, check=True
    )
    return eval(done.stdout)


def test_a_real_timeout_two_processes_above():
    found = asked_under("timeout", "1h", "sh", "-c", '"$@"; true', "-")

    assert found["limit.by"] == "timeout 3600"
    assert float(found["limit.ends_at"]) == pytest.approx(time.time() + 3_600, abs=120)


def test_a_real_limit_on_cpu_time():
    found = asked_under("sh", "-c", 'ulimit -t 600; exec "$@"', "-")

    assert found["limit.cpu_seconds"] == "600"


def test_without_a_limit(tmp_path: Path):
    assert "limit.by" not in limit_settings({}, now=1.0, root=tmp_path)


def test_slurm_says_when(tmp_path: Path):
    found = limit_settings({"SLURM_JOB_END_TIME": "1700000000"}, now=1.0, root=tmp_path)

    assert (found["limit.by"], found["limit.ends_at"]) == ("Slurm", "1700000000.0")


def test_a_command_line_that_is_hidden(tmp_path: Path):
    """Another user's, or a kernel that tells less."""
    proc = tmp_path / "proc"
    (proc / str(os.getpid())).mkdir(parents=True)
    (proc / str(os.getpid()) / "stat").write_text(f"1 (timeout) S {'1 ' * 30}")

    assert "limit.by" not in limit_settings({}, now=1.0, root=tmp_path)
