"""What the tab is told, and when."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tb_health_plugin.diagnosis.live import LiveJudge
from tb_health_plugin.events import facts
from tb_health_plugin.events.attempt import FileName, new_attempt_directory
from tb_health_plugin.events.event_file import EventFile
from tb_health_plugin.reading import library
from tb_health_plugin.reading.library import Library
from tb_health_plugin.reading.log_directory import Root
from tb_health_plugin.server.answers import run_list
from tb_health_plugin.server.view import ToldRun, View


def record(run: Path, *told: facts.Fact) -> None:
    directory = new_attempt_directory(run)
    records = EventFile(directory / str(FileName("records", 0)), now=1.0)
    records.append_fact(facts.RunStarted(wall_time=1.0, host="elsewhere"))
    for fact in told:
        records.append_fact(fact)
    records.close()


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
    record(tmp_path / "run")
    provider = SlowProvider()
    view = View(Library([Root(tmp_path)]), provider)
    provider.view = view

    with pytest.raises(TimeoutError):
        view.refresh()

    assert provider.shown_meanwhile == ["run"]
    assert [told.run.name for told in view.runs()] == ["run"]


class TestWhileRunsAreJudged:
    """Rules take longer than reading, so runs are shown before they are judged."""

    @pytest.fixture
    def view(self, tmp_path: Path) -> View:
        for number, name in enumerate(("older", "newer")):
            ended = facts.RunEnded(
                wall_time=10.0 + number,
                step=7,
                reason="exception",
                exception="ValueError",
                message="bad batch",
                training_under_way=True,
            )
            record(tmp_path / name, ended)
        return View(Library([Root(tmp_path)]))

    @pytest.fixture
    def at_each_judgement(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> Callable[[Callable[[], None]], None]:
        def watch(look: Callable[[], None]) -> None:
            judge = LiveJudge.look

            def watched(*args: object, **more: object) -> object:
                look()
                return judge(*args, **more)  # type: ignore[arg-type]

            monkeypatch.setattr(LiveJudge, "look", watched)

        return watch

    def test_every_run_is_listed_with_how_it_ended(
        self, view: View, at_each_judgement: Callable[[Callable[[], None]], None]
    ):
        shown: list[list[ToldRun]] = []
        at_each_judgement(lambda: shown.append(view.runs()))

        view.refresh()

        first = shown[0]
        assert [one.run.name for one in first] == ["newer", "older"]
        assert [one.judged for one in first] == [False, False]
        assert [one.row["state"] for one in first] == ["failed", "failed"]
        assert all(one.judged for one in view.runs())

    def test_the_newest_is_judged_first_and_the_rest_is_said_to_be_due(
        self, view: View, at_each_judgement: Callable[[Callable[[], None]], None]
    ):
        answers: list[tuple[bool, int]] = []
        judged: list[str] = []

        def look() -> None:
            reading = run_list(view)["reading"]
            answers.append((reading["complete"], reading["runs_judged"]))
            judged.extend(one.run.name for one in view.runs() if one.judged)

        at_each_judgement(look)

        view.refresh()

        assert answers == [(False, 0), (False, 1)]
        assert judged == ["newer"]
        assert run_list(view)["reading"]["complete"]

    def test_a_run_that_somebody_opens_does_not_wait_for_its_turn(self, view: View):
        view.library.refresh()
        view._show()

        told = view.run("older")

        assert told is not None
        assert told.judged
        assert told.story is not None
        assert told.story.verdict is not None
        assert [one.judged for one in view.runs()] == [False, True]

    def test_a_version_changes_when_a_run_is_judged(self, view: View):
        view.library.refresh()
        view._show()
        before = view.version, {one.version for one in view.runs()}

        view.tell_all()

        assert view.version != before[0]
        assert before[1].isdisjoint(one.version for one in view.runs())


def test_runs_are_listed_while_others_are_still_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for name in ("a", "b", "c"):
        record(tmp_path / name)
    monkeypatch.setattr(library, "SHOWN_EACH_SECONDS", 0.0)
    view = View(Library([Root(tmp_path)]))
    seen: list[int] = []
    show = view._show

    def counted() -> list[str]:
        due = show()
        seen.append(len(view.runs()))
        return due

    monkeypatch.setattr(view, "_show", counted)

    view.refresh()

    assert seen[:3] == [1, 2, 3]
