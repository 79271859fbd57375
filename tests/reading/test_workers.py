"""Workers of one start are told from starts one after the other."""

import pytest

from tb_health_plugin.events import facts
from tb_health_plugin.reading.run_history import Attempt, RunHistory
from tb_health_plugin.reading.workers import Start, joined, starts, worker_of
from tests.conftest import worker_settings


def attempt(
    id: str,
    rank: int | None,
    began: float,
    ended: float,
    *,
    size: int = 2,
    role: str = "worker",
    job: str = "j1",
    by: str = "TF_CONFIG",
) -> Attempt:
    found = Attempt(id)
    settings = {}
    if rank is not None:
        settings = worker_settings(rank, size, role=role, job=job, by=by)
    found.add(facts.RunStarted(wall_time=began, settings=settings))
    found.add(facts.RunEnded(wall_time=ended, reason="finished"))
    return found


def ids(found: tuple[Start, ...]) -> list[list[str]]:
    return [[one.id for one in start.attempts] for start in found]


def test_workers_that_ran_at_the_same_time_are_one_start():
    found = starts([attempt("b", 1, 101, 200), attempt("a", 0, 103, 201)])

    assert ids(found) == [["a", "b"]]
    assert found[0].is_distributed


def test_processes_alone_are_a_start_each():
    found = starts([attempt("a", None, 1, 9), attempt("b", None, 2, 10)])

    assert ids(found) == [["a"], ["b"]]
    assert not any(start.is_distributed for start in found)


def test_the_same_place_again_is_a_restart():
    first = [attempt("a0", 0, 100, 200), attempt("a1", 1, 100, 190)]
    # The launcher starts the dead one again before the other one has noticed.
    again = [attempt("b1", 1, 195, 300), attempt("b0", 0, 205, 300)]

    assert ids(starts(first + again)) == [["a0", "a1"], ["b0", "b1"]]


def test_one_that_comes_long_after_the_others_are_gone_is_another_start():
    found = starts([attempt("a", 0, 100, 200), attempt("b", 1, 500, 600)])

    assert ids(found) == [["a"], ["b"]]


def test_one_that_comes_late_while_the_others_wait_is_of_the_same_start():
    found = starts([attempt("a", 0, 100, 2_000), attempt("b", 1, 1_900, 2_000)])

    assert ids(found) == [["a", "b"]]


@pytest.mark.parametrize("other", [{"job": "j2"}, {"size": 3}, {"by": "Slurm"}])
def test_another_job_is_another_start(other: dict):
    found = starts([attempt("a", 0, 100, 200), attempt("b", 1, 100, 200, **other)])

    assert len(found) == 2


def test_the_one_that_leads_comes_first_and_servers_last():
    found = starts(
        [
            attempt("s", 0, 100, 200, role="ps", size=4),
            attempt("w1", 1, 100, 200, size=4),
            attempt("w0", 0, 101, 200, size=4),
            attempt("c", 0, 102, 200, role="chief", size=4),
        ]
    )

    assert ids(found) == [["c", "w0", "w1", "s"]]


def test_one_record_of_two_workers_is_distributed_all_the_same():
    (start,) = starts([attempt("a", 0, 100, 200)])

    assert start.is_distributed
    assert start.size == 2


def test_records_of_before_tell_their_place_in_other_words():
    old = Attempt("a")
    told = {"env.TF_CONFIG": "task worker 1, cluster worker 2, ps 1"}
    old.add(facts.RunStarted(wall_time=1.0, settings=told))

    worker = worker_of(old)

    assert worker is not None
    assert (worker.name, worker.size) == ("worker 1", 3)


def test_the_lead_of_the_last_start_speaks_for_a_run():
    history = RunHistory(
        "run",
        [
            attempt("a0", 0, 100, 200),
            attempt("b0", 0, 300, 400),
            attempt("b1", 1, 301, 400),
        ],
    )

    assert history.latest is not None
    assert history.latest.id == "b0"
    assert history.spoken_for_by(history.attempts[-1]).latest.id == "b1"


class TestJoined:
    def test_workers_that_write_to_different_places_are_one_run(self):
        runs = {
            "exp/w0": [attempt("a", 0, 100, 200)],
            "exp/w1": [attempt("b", 1, 100, 200)],
        }

        assert joined(runs) == {"exp/w1": "exp/w0"}

    def test_the_same_cluster_on_another_day_is_another_run(self):
        runs = {
            "monday/w0": [attempt("a", 0, 100, 200)],
            "monday/w1": [attempt("b", 1, 100, 200)],
            "tuesday/w0": [attempt("c", 0, 9_000, 9_100)],
            "tuesday/w1": [attempt("d", 1, 9_000, 9_100)],
        }

        assert joined(runs) == {"monday/w1": "monday/w0", "tuesday/w1": "tuesday/w0"}

    def test_trials_of_one_slurm_job_know_nothing_of_each_other(self):
        runs = {
            "trial0": [attempt("a", 0, 100, 200, by="Slurm")],
            "trial1": [attempt("b", 1, 100, 200, by="Slurm")],
        }

        assert joined(runs) == {}

    def test_without_a_job_nothing_says_that_they_belong_together(self):
        runs = {
            "a": [attempt("a", 0, 100, 200, job="")],
            "b": [attempt("b", 1, 100, 200, job="")],
        }

        assert joined(runs) == {}
