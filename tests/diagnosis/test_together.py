"""Several workers, one story: which failed first, and which only followed."""

import dataclasses

import pytest

from tb_health_plugin.diagnosis.as_json import answer, workers_payload
from tb_health_plugin.events import facts
from tb_health_plugin.reading.run_history import RunHistory
from tests.diagnosis.team import (
    BEGAN,
    finished,
    killed,
    lost,
    stopped,
    story,
    table,
    waits,
    worker,
)

END = BEGAN + 60


class TestRoot:
    def test_one_killed_for_memory_is_the_cause_and_the_other_a_consequence(self):
        told = story(
            worker(0, lost(END + 8, 1, step=119)), worker(1, killed(END, oom=True))
        )

        verdict = told.story.verdict
        assert verdict is not None
        assert (verdict.id, verdict.place["worker"]) == ("host_oom", "worker 1")
        assert told.story.state == "died"
        assert table(told) == {"worker 0": "consequence", "worker 1": "root"}
        assert told.attempt.id.startswith("a1")

    def test_the_survivors_last_step_is_told(self):
        told = story(worker(0, lost(END + 8, 1, step=119)), worker(1, killed(END)))

        assert any(
            "Worker 0 had finished step 119 when it stopped 8 seconds later"
            in evidence.text
            for evidence in told.story.verdict.evidence
        )

    def test_the_words(self):
        told = story(worker(0, lost(END + 8, 1)), worker(1, killed(END)))

        assert told.story.headline == (
            "Worker 1: killed from outside (SIGKILL) at step 118"
        )

    def test_what_the_victim_says_hangs_under_the_cause(self):
        told = story(worker(0, lost(END + 8, 1)), worker(1, killed(END)))

        assert [(one.id, one.caused_by) for one in told.story.findings][:2] == [
            ("killed_outside", None),
            ("peer_lost", "killed_outside"),
        ]

    def test_a_frozen_worker_is_the_cause_although_it_was_killed_last(self):
        frozen = worker(1, stopped(BEGAN + 30, 60), killed(END + 20), seconds=30)
        told = story(worker(0, lost(END, 1, "heartbeat timeout")), frozen)

        verdict = told.story.verdict
        assert (verdict.id, verdict.place["worker"]) == ("stopped_process", "worker 1")

    def test_a_frozen_worker_that_lives_on(self):
        frozen = worker(1, stopped(BEGAN + 30, 60), seconds=30)
        told = story(worker(0, lost(END, 1, "heartbeat")), frozen, alive=[1])

        assert told.story.state == "stuck"
        assert told.story.verdict.place["worker"] == "worker 1"

    def test_whoever_is_ended_by_the_launcher_is_no_cause(self):
        raised = facts.TrainingEnded(
            wall_time=END,
            step=60,
            training=0,
            reason="raised",
            exception="ValueError",
            message="bad record",
            during="data",
        )
        told = story(
            worker(0, killed(END + 2, number=15), size=3),
            worker(1, raised, size=3),
            worker(2, lost(END + 3, 1), size=3),
        )

        assert told.story.verdict.place["worker"] == "worker 1"
        assert table(told)["worker 0"] == "consequence"

    def test_the_earliest_of_several_own_failures(self):
        told = story(
            worker(0, killed(END + 20)),
            worker(1, killed(END, oom=True)),
        )

        assert told.story.verdict.place["worker"] == "worker 1"
        assert table(told)["worker 0"] == "consequence"

    def test_the_same_fault_in_all_is_nobody_s(self):
        def raised(at: float) -> facts.TrainingEnded:
            return facts.TrainingEnded(
                wall_time=at,
                step=60,
                training=0,
                reason="raised",
                exception="NameError",
                message="name 'x' is not defined",
                file="/home/me/train.py",
                line=9,
                during="step",
            )

        told = story(worker(0, raised(END)), worker(1, raised(END + 1)))

        assert "worker" not in told.story.verdict.place
        assert told.story.verdict.evidence[-1].text == "All 2 workers stopped so."
        assert sorted(table(told).values()) == ["root", "same"]

    def test_a_clock_that_is_ahead_does_not_change_who_was_first(self):
        # By its own clock the cause came 32 seconds after its consequence.
        told = story(
            worker(0, lost(END + 8, 1), boot="a"),
            worker(1, killed(END + 40, oom=True), boot="b", clock=40.0),
        )

        assert told.story.verdict.place["worker"] == "worker 1"
        assert told.workers[1].clock_ahead_seconds == pytest.approx(40.0, abs=0.6)
        assert "clock of worker 1 is 40.0 s ahead" in told.notes[0]


class TestLost:
    def test_one_with_fewer_batches(self):
        told = story(
            worker(0, lost(END + 20, 1, step=100), rate=2.0),
            worker(1, finished(BEGAN + 45, 90), seconds=45, rate=2.0),
        )

        verdict = told.story.verdict
        assert (verdict.id, verdict.detail) == ("peer_lost", "out_of_step")
        assert verdict.place["worker"] == "worker 1"
        assert told.story.headline == (
            "Worker 1 was done after step 90; the others had more to do"
        )
        assert "the same for all" in verdict.fixes[0].code
        assert table(told) == {"worker 0": "consequence", "worker 1": "root"}

    def test_all_can_have_the_steps_of_the_one_that_was_done_first(self):
        epoch = facts.EpochEnded(
            wall_time=BEGAN + 15, step=30, training=0, epoch=0, last_step=30
        )
        told = story(
            worker(0, lost(END + 20, 1, step=100), rate=2.0),
            worker(1, epoch, finished(BEGAN + 45, 90), seconds=45, rate=2.0),
        )

        assert told.story.verdict.fixes[0].code == (
            "dataset = dataset.repeat()\nmodel.fit(..., steps_per_epoch=30)"
        )

    def test_one_that_validates_while_the_others_train(self):
        told = story(
            worker(0, waits("training"), size=3),
            worker(1, waits("validation"), size=3),
            worker(2, waits("training"), size=3),
            alive=[0, 1, 2],
        )

        verdict = told.story.verdict
        assert (verdict.id, verdict.detail) == ("peer_lost", "out_of_step")
        assert told.story.headline == (
            "Worker 1 validates while worker 0 trains: each waits for the other"
        )
        assert table(told)["worker 1"] == "root"

    def test_workers_that_wait_in_the_same_phase_are_not_out_of_step(self):
        told = story(
            worker(0, waits("training")), worker(1, waits("training")), alive=[0, 1]
        )

        assert told.story.verdict.detail == "silent"

    def test_a_network_that_is_cut(self):
        told = story(worker(0, lost(END, 1)), worker(1, lost(END + 1, 0)))

        verdict = told.story.verdict
        assert (verdict.detail, verdict.confidence) == ("network", "possible")
        assert "worker" not in verdict.place

    def test_a_network_that_is_cut_where_one_side_names_nobody(self):
        nobody = facts.TrainingEnded(
            wall_time=END + 1,
            step=60,
            training=0,
            reason="raised",
            exception="DeadlineExceededError",
            message="Collective ops is aborted by: Deadline Exceeded\n\n"
            "RPC: /tensorflow.CoordinationService/Heartbeat",
            during="step",
        )
        told = story(worker(0, lost(END, 1, "heartbeat")), worker(1, nobody))

        assert told.story.verdict.detail == "network"
        assert told.story.headline == (
            "Worker 0 and worker 1 lost each other, and neither had failed"
        )
        # They were on one machine: there is no network to try.
        assert told.story.verdict.fixes[0].code is None

    def test_of_a_chain_the_first_one_knows_whom_it_lost(self):
        told = story(
            worker(0, lost(END + 9, 1), size=3), worker(1, lost(END, 2), size=3)
        )

        assert told.story.verdict.place["worker"] == "worker 2"
        assert table(told)["worker 2"] == "root"

    def test_a_host_that_is_gone(self):
        told = story(worker(0, lost(END + 30, 1)), worker(1, seconds=40))

        verdict = told.story.verdict
        assert (verdict.id, verdict.detail) == ("peer_lost", "host_gone")
        assert verdict.fixes[0].code.startswith("ssh h journalctl --since @")
        assert verdict.place["worker"] == "worker 1"

    def test_one_that_left_no_record_is_blamed_by_name(self):
        told = story(worker(0, lost(END, 1)))

        assert told.story.verdict.place["worker"] == "worker 1"
        assert table(told) == {"worker 0": "consequence", "worker 1": "root"}


class TestFine:
    def test_all_finished(self):
        told = story(worker(0, finished(END, 118)), worker(1, finished(END, 118)))

        assert (told.story.state, told.story.severity) == ("finished", "info")
        assert set(table(told).values()) == {"fine"}
        assert told.notes == ()

    def test_all_running(self):
        told = story(worker(0), worker(1), alive=[0, 1])

        assert told.story.state == "running"

    def test_one_finishing_earlier_is_fine_if_nobody_misses_it(self):
        told = story(worker(0, finished(END, 118)), worker(1, finished(END - 9, 100)))

        assert told.story.severity == "info"

    def test_servers_without_a_record_are_no_fault(self):
        lone = worker(0, finished(END, 118), size=3)

        assert story(lone).story.severity == "info"
        assert set(table(story(lone)).values()) == {"fine", "no record"}


def test_a_start_with_fewer_workers_than_before_is_told():
    told = story(
        worker(0, lost(END, 1)),
        worker(1, killed(END - 5)),
        worker(0, size=1, began=END + 100),
        alive=[0],
    )

    assert told.notes == ("It was started again with 1 worker; before there were 2.",)


def test_the_answer_has_a_table_of_all_workers():
    first, second = worker(0, lost(END + 8, 1)), worker(1, killed(END))
    told = story(first, second)

    history = RunHistory("run", [first, second]).spoken_for_by(told.attempt)
    found = answer(history, told.story, told)

    assert found["attempts"] == 1
    assert found["verdict"]["place"]["worker"] == "worker 1"
    rows = {one["name"]: one for one in found["workers"]["table"]}
    assert rows["worker 0"]["cause"] == "peer_lost"
    assert (rows["worker 1"]["part"], rows["worker 1"]["step"]) == ("root", 118)


def test_one_alone_has_no_table():
    told = story(worker(0, finished(END, 118)))

    assert workers_payload(dataclasses.replace(told, workers=())) is None
