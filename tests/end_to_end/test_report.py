"""A report opens from disk, with the network off, and shows the verdict."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from tb_health_plugin.cli.main import PROBLEM_FOUND, main
from tests import runs

pytestmark = [pytest.mark.live, pytest.mark.browser]


def test_a_report_opens_from_disk_with_the_network_off(chromium: Any, tmp_path: Path):
    logs = tmp_path / "logs"
    for name in ("native_crash", "healthy"):
        shutil.copytree(runs.HERE / name, logs / name)
    file = tmp_path / "report.html"
    named = ["--run", "native_crash", "-o", str(file)]
    assert main(["report", str(logs), *named]) == PROBLEM_FOUND

    context = chromium.new_context(offline=True)
    page = context.new_page()
    complaints: list[str] = []
    requests: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda said: _note_error(said, complaints))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(file.as_uri())
    page.get_by_text("Crashed in native code (abort) at step 96").first.wait_for()
    context.close()

    assert complaints == []
    assert [u for u in requests if not u.startswith(("file:", "data:", "blob:"))] == []


def _note_error(said: Any, complaints: list[str]) -> None:
    if said.type == "error":
        complaints.append(said.text)
