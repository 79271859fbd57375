"""A machine made of a few files, as the kernel would show them."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tb_health_plugin.collectors.collector import Watched

PID = 42

Machine = Callable[[Mapping[str, str]], Watched]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """Writes files below a root of its own; process 42 is the one watched.

    Called again, it adds files or changes them.
    """

    def make(files: Mapping[str, str]) -> Watched:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return Watched(pid=PID, root=tmp_path)

    return make
