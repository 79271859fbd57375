"""The commonest endings, twenty times each: no wrong cause, ever."""

import contextlib
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tb_health_plugin.diagnosis.story import tell
from tb_health_plugin.reading.liveness import Life
from tests.watching.conftest import ROOT, command, memory_group, wait_for_end

REPEATS = 20
LIMIT_BYTES = 150 << 20
EXPECTED = {
    "finished": None,
    "exception": "code_error",
    "SIGKILL": "killed_outside",
    "SIGTERM": "preempted",
    "segfault": "native_crash",
    "out_of_memory": "host_oom",
}


def verdict_of(ending: str, logdir: Path) -> str | None:
    logdir.mkdir()
    with contextlib.ExitStack() as stack:
        env = dict(os.environ)
        if ending == "out_of_memory":
            group = stack.enter_context(memory_group(LIMIT_BYTES))
            env["TB_HEALTH_TEST_GROUP"] = str(group)
        subprocess.run(
            command(logdir, ending),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=ROOT,
            env=env,
            check=False,
        )
        attempt = wait_for_end(logdir)
    told = tell(attempt, Life(alive=False, because=""))
    return told.verdict.id if told.verdict else None


@pytest.mark.live
@pytest.mark.parametrize("ending", EXPECTED)
def test_it_is_told_the_same_every_time(tmp_path: Path, ending: str):
    with ThreadPoolExecutor(3) as pool:
        told = pool.map(
            lambda number: verdict_of(ending, tmp_path / str(number)), range(REPEATS)
        )

    assert list(told) == [EXPECTED[ending]] * REPEATS
