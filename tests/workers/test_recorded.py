"""What really happened to workers is still told from their records, in milliseconds."""

import pytest

from tb_health_plugin.reading.run_history import RunHistory
from tb_health_plugin.reading.workers import worker_of
from tests.workers import recorded
from tests.workers.scenarios import SCENARIOS, right


def test_every_scenario_has_a_record():
    assert recorded.names() == sorted(SCENARIOS)


@pytest.mark.parametrize("name", recorded.names())
def test_the_right_worker_and_the_right_cause(name: str):
    answer = recorded.told(recorded.history(name))

    assert right(name, answer), answer["headline"]
    parts = {row["name"]: row["part"] for row in answer["workers"]["table"]}
    roots = [worker for worker, part in parts.items() if part == "root"]
    assert roots == ([SCENARIOS[name].worker] if SCENARIOS[name].worker else [])


def test_two_healthy_workers_get_no_warning():
    answer = recorded.told(recorded.history("healthy"))

    assert [one["id"] for one in answer["findings"] if one["severity"] != "info"] == []


@pytest.mark.parametrize("name", ["killed", "frozen", "out_of_memory"])
def test_without_the_record_of_the_root_it_is_still_named(name: str):
    found = recorded.history(name)
    survivors = [one for one in found.attempts if worker_of(one).rank != 1]

    answer = recorded.told(RunHistory("run", survivors))

    assert answer["verdict"]["id"] == "peer_lost"
    assert answer["verdict"]["place"]["worker"] == "worker 1"
    rows = {row["name"]: row for row in answer["workers"]["table"]}
    assert (rows["worker 1"]["part"], rows["worker 1"]["step"]) == ("root", None)


@pytest.mark.parametrize("name", ["killed", "out_of_memory"])
def test_without_the_records_of_victims_the_cause_is_the_same(name: str):
    found = recorded.history(name)
    root = [one for one in found.attempts if worker_of(one).rank == 1]

    answer = recorded.told(RunHistory("run", root))

    assert right(name, answer), answer["headline"]


class TestParameterServers:
    def test_the_one_that_holds_nearly_all_is_named(self):
        answer = recorded.told(recorded.history("uneven", recorded.SERVERS))

        verdict = answer["verdict"]
        assert (verdict["id"], verdict["detail"]) == ("straggler", "server")
        assert verdict["place"] == {"worker": "ps 0"}
        assert "MinSizePartitioner" in verdict["fixes"][0]["code"]

    def test_variables_in_shards_get_no_warning(self):
        answer = recorded.told(recorded.history("even", recorded.SERVERS))

        assert answer["verdict"]["id"] == "healthy"
        assert [
            one["id"] for one in answer["findings"] if one["severity"] != "info"
        ] == []
