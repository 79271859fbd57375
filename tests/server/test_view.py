"""What the tab is told, and when."""

from pathlib import Path

import pytest

from tb_health_plugin.events import facts
from tb_health_plugin.events.attempt import FileName, new_attempt_directory
from tb_health_plugin.events.event_file import EventFile
from tb_health_plugin.reading.library import Library
from tb_health_plugin.reading.log_directory import Root
from tb_health_plugin.server.view import View


class SlowProvider:
    """TensorBoard's loaders, asked while nothing but our own files is read."""

    def __init__(self) -> None:
        self.view: View | None = None
        self.shown_meanwhile: list[str] = []

    def list_runs(self, *args: object, **kwargs: object) -> list[object]:
        assert self.view is not None
        self.shown_meanwhile = [told.run.name for told in self.view.runs()]
        raise TimeoutError("still loading")


def test_our_own_runs_are_shown_while_tensorboards_loaders_still_load(tmp_path: Path):
    directory = new_attempt_directory(tmp_path / "run")
    records = EventFile(directory / str(FileName("records", 0)), now=1.0)
    records.append_fact(facts.RunStarted(wall_time=1.0, host="elsewhere"))
    records.close()
    provider = SlowProvider()
    view = View(Library([Root(tmp_path)]), provider)
    provider.view = view

    with pytest.raises(TimeoutError):
        view.refresh()

    assert provider.shown_meanwhile == ["run"]
    assert [told.run.name for told in view.runs()] == ["run"]
