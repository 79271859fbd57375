"""No answer grows with what somebody wrote into a log directory."""

from collections.abc import Callable
from pathlib import Path

from tb_health_plugin.events import facts
from tb_health_plugin.reading.library import Library
from tb_health_plugin.reading.log_directory import Root
from tb_health_plugin.server import answers
from tb_health_plugin.server.incidents import MOST_INCIDENTS
from tb_health_plugin.server.view import View


def story(logs: Path) -> dict:
    view = View(Library([Root(logs)]))
    view.refresh()
    return dict(answers.run_story(view, "run"))


def test_of_very_many_incidents_the_gravest_and_the_newest_are_told(
    logs: Path, write_attempt: Callable[..., Path]
):
    grave = facts.Incident(wall_time=1.0, severity="critical", message="grave")
    many = [facts.Incident(wall_time=2.0 + n, message=str(n)) for n in range(1_000)]
    write_attempt("run", told=[facts.RunStarted(wall_time=0.5), grave, *many])

    told = story(logs)["incidents"]

    assert len(told) == MOST_INCIDENTS
    assert told[0]["message"] == "grave"
    assert told[-1]["message"] == "999"


def test_of_very_many_epochs_every_nth_and_the_last_are_told(
    logs: Path, write_attempt: Callable[..., Path]
):
    ends = [
        facts.EpochEnded(wall_time=1.0 + n, training=0, epoch=n, metrics={"loss": 1.0})
        for n in range(2_500)
    ]
    write_attempt("run", told=[facts.RunStarted(wall_time=0.5), *ends])

    told = story(logs)["epochs"]

    assert len(told) == 834
    assert told[-1]["epoch"] == 2_500
