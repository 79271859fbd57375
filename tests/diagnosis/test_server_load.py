"""A training with parameter servers: who serves is no fault, who does most is told."""

import numpy as np
import pytest

from tb_health_plugin.diagnosis.together import StartStory
from tb_health_plugin.events import facts
from tb_health_plugin.reading.run_history import Attempt
from tests.conftest import worker_settings
from tests.diagnosis.team import BEGAN, finished, killed, lost, story, table

CLUSTER = "cluster chief 1, worker 1, ps 2"
END = BEGAN + 59


def task(role: str, rank: int, *told: facts.Fact, cores: float = 0.1) -> Attempt:
    """A process that uses so many cores for a minute."""
    found = Attempt(f"{role}{rank}")
    settings = {
        **worker_settings(rank, 4, role=role),
        "env.TF_CONFIG": f"task {role} {rank}, {CLUSTER}",
    }
    found.add(
        facts.RunStarted(
            wall_time=BEGAN, host="h", pid=100 + rank, boot_id="b", settings=settings
        )
    )
    moments = np.arange(60, dtype=float)
    rows = {
        "wall_time": BEGAN + moments,
        "tree_cpu_seconds": cores * moments,
        "process_rss_bytes": np.full(60, 1e9 * (1 + cores)),
    }
    if role == "chief":
        rows["step"] = moments
        begun = facts.TrainingStarted(
            wall_time=BEGAN,
            training=0,
            settings={"strategy": "ParameterServerStrategyV2"},
        )
        found.add(begun)
    found.samples.append(rows)
    for fact in told:
        found.add(fact)
    return found


def team(first: float, second: float, *told: facts.Fact) -> StartStory:
    """Two servers that use so many cores; then the launcher ends all that serve."""
    ended = killed(END + 5, number=15)
    return story(
        task("chief", 0, *(told or (finished(END, 59),))),
        task("worker", 0, ended, cores=0.9),
        task("ps", 0, ended, cores=first),
        task("ps", 1, ended, cores=second),
    )


def test_servers_that_are_ended_after_the_training_are_no_fault():
    told = team(0.5, 0.5)

    assert told.story.severity == "info"
    assert told.story.state == "finished"
    assert set(table(told).values()) == {"fine"}


def test_one_that_does_most_of_the_work():
    told = team(0.9, 0.05)

    verdict = told.story.verdict
    assert (verdict.id, verdict.detail) == ("straggler", "server")
    assert verdict.place == {"worker": "ps 0"}
    assert verdict.evidence[0].text == (
        "In the training ps 0 used 0.90 cores, and no other server more than 0.05."
    )
    assert table(told) == {
        "chief 0": "fine",
        "worker 0": "fine",
        "ps 0": "root",
        "ps 1": "fine",
    }
    assert told.story.state == "finished"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        # Nobody waits for a server that is mostly idle.
        (0.2, 0.01),
        # Some difference there always is.
        (0.9, 0.4),
    ],
)
def test_what_is_not_worth_a_word(first: float, second: float):
    assert team(first, second).story.severity == "info"


def test_a_server_without_a_record_is_not_compared():
    told = story(
        task("chief", 0, finished(END, 59)),
        task("ps", 0, killed(END + 5, number=15), cores=0.9),
    )

    assert told.story.severity == "info"


def test_a_server_that_died_is_the_cause_and_not_its_load():
    told = story(
        task("chief", 0, lost(END, 0)),
        task("ps", 0, killed(END - 9, oom=True), cores=0.9),
        task("ps", 1, killed(END + 9, number=15), cores=0.05),
    )

    verdict = told.story.verdict
    assert (verdict.id, verdict.place["worker"]) == ("host_oom", "ps 0")
    assert table(told)["ps 1"] == "consequence"


def test_a_server_that_waits_is_not_one_that_misses_others():
    idle = task("ps", 0, cores=0.0)

    told = story(idle, alive=(0,))

    assert told.story.severity == "info"
