"""A recording in this process, which plays one process per test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tb_health_plugin.recording import attempts, process_end
from tb_health_plugin.recording.attempts import Attempt
from tb_health_plugin.recording.process_end import ProcessEnd


@pytest.fixture
def attempt(tmp_path: Path, monkeypatch) -> Iterator[Attempt]:
    monkeypatch.setattr(attempts, "_attempts", {})
    monkeypatch.setattr(process_end, "_listeners", [])
    monkeypatch.setattr(process_end, "_seen", None)
    yield attempts.attempt_for(tmp_path, watcher=False)
    process_end._tell(ProcessEnd(reason="finished", happened_at=1.0))
