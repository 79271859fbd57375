"""One root cause, its consequences under it, and three outcomes kept apart."""

import dataclasses

import pytest

from tb_health_plugin.diagnosis.case import Case
from tb_health_plugin.diagnosis.engine import judge
from tb_health_plugin.diagnosis.rule import Outcome, Rule
from tb_health_plugin.diagnosis.rules import all_rules, explanations
from tb_health_plugin.diagnosis.verdict import Moment, NotMeasured, Story, Verdict
from tb_health_plugin.events import facts
from tb_health_plugin.reading.liveness import Life
from tb_health_plugin.reading.run_history import Attempt

GONE = Life(alive=False, because="Process 1 is gone.")
START = facts.RunStarted(wall_time=1.0, pid=1)
BEGUN = facts.TrainingStarted(wall_time=2.0, training=0, planned_epochs=3)
DONE = facts.TrainingEnded(wall_time=9.0, step=900, training=0, epochs_done=3)
KILLED = facts.ProcessEnded(
    wall_time=9.0, step=900, signal=9, seen_by="pidfd", cgroup_oom_kills=1
)


def found(id: str, **more) -> Verdict:
    plain = Verdict(
        id=id,
        severity="warning",
        confidence="likely",
        headline=f"{id} it is",
        because="It was seen.",
        cause_at=Moment(step=1),
        stopped_at=Moment(step=2),
        chip=id,
    )
    return dataclasses.replace(plain, **more)


def rule(outcome: Outcome, id: str = "test") -> Rule:
    return Rule(id=id, judge=lambda case: outcome)


def judged(*told: facts.Fact, outcomes: tuple[Outcome, ...] = ()) -> Story:
    attempt = Attempt("a")
    for fact in told:
        attempt.add(fact)
    return judge(attempt, GONE, [rule(outcome) for outcome in outcomes])


class TestOutcomes:
    def test_not_seen_leaves_a_healthy_run_alone(self):
        story = judged(START, BEGUN, DONE, outcomes=(None, None))

        assert (story.state, story.severity, story.verdict) == (
            "finished",
            "info",
            None,
        )
        assert story.findings == ()

    def test_not_measured_is_kept_once_and_is_no_finding(self):
        missing = NotMeasured(what="gradients", why="nobody looked")

        story = judged(START, BEGUN, DONE, outcomes=(missing, missing))

        assert story.not_measured == (missing,)
        assert story.findings == ()

    def test_a_rule_that_fails_costs_only_itself(self):
        def fails(case: Case) -> Outcome:
            raise ZeroDivisionError("no epochs")

        attempt = Attempt("a")
        rules = [Rule(id="broken", judge=fails), rule(found("overfitting"))]

        story = judge(attempt, GONE, rules)

        assert [one.id for one in story.findings][:1] != []
        assert "ZeroDivisionError" in story.not_measured[0].why


class TestRanking:
    def test_a_finding_becomes_the_verdict_of_a_run_that_finished(self):
        story = judged(START, BEGUN, DONE, outcomes=(found("overfitting"),))

        assert story.state == "finished"
        assert (story.chip, story.headline) == ("overfitting", "overfitting it is")

    def test_what_is_only_good_to_know_does_not_speak_for_the_run(self):
        note = found("undertrained", severity="info")

        story = judged(START, BEGUN, DONE, outcomes=(note,))

        assert story.verdict is None
        assert story.headline.startswith("Finished as planned")
        assert [one.id for one in story.findings] == ["undertrained"]

    def test_what_explains_the_end_is_the_root_and_the_end_its_consequence(self):
        leak = found("memory_leak", explains=("host_oom",))

        story = judged(START, BEGUN, KILLED, outcomes=(found("input_bound"), leak))

        assert story.verdict is not None
        assert story.verdict.id == "memory_leak"
        by_id = {one.id: one for one in story.findings}
        assert by_id["host_oom"].caused_by == "memory_leak"
        assert story.findings[0].id == "memory_leak"

    def test_an_end_that_nothing_explains_stays_the_verdict(self):
        story = judged(START, BEGUN, KILLED, outcomes=(found("input_bound"),))

        assert [one.id for one in story.findings] == ["host_oom", "input_bound"]

    def test_the_graver_and_surer_finding_comes_first(self):
        story = judged(
            START,
            BEGUN,
            DONE,
            outcomes=(
                found("overfitting", severity="info"),
                found("input_bound", confidence="possible"),
                found("nan_op", severity="critical"),
                found("retracing", confidence="proven"),
            ),
        )

        ids = [one.id for one in story.findings]
        assert ids == ["nan_op", "retracing", "input_bound", "overfitting"]

    def test_what_makes_a_run_useless_comes_before_what_makes_it_slow(self):
        story = judged(
            START,
            BEGUN,
            DONE,
            outcomes=(found("input_bound"), found("unshuffled_data")),
        )

        assert [one.id for one in story.findings] == ["unshuffled_data", "input_bound"]

    def test_a_chain_of_causes_ends_at_its_root(self):
        story = judged(
            START,
            BEGUN,
            KILLED,
            outcomes=(
                found("swap_thrash", explains=("host_oom",)),
                found("memory_leak", explains=("swap_thrash",)),
            ),
        )

        assert story.findings[0].id == "memory_leak"

    def test_two_that_explain_each_other_make_no_circle(self):
        story = judged(
            START,
            BEGUN,
            DONE,
            outcomes=(
                found("lr_too_high", explains=("exploding_gradients",)),
                found(
                    "exploding_gradients",
                    explains=("lr_too_high",),
                    confidence="proven",
                ),
            ),
        )

        causes = {one.id: one.caused_by for one in story.findings}
        assert causes == {
            "exploding_gradients": None,
            "lr_too_high": "exploding_gradients",
        }

    def test_a_rule_that_names_the_end_itself_replaces_it(self):
        better = found("host_oom", headline="The cache outgrew the container")

        story = judged(START, BEGUN, KILLED, outcomes=(better,))

        assert [one.headline for one in story.findings] == [better.headline]


def test_a_start_that_is_told_again_is_one_training():
    attempt = Attempt("a")
    known = dataclasses.replace(BEGUN, trainable_parameters=5)
    for fact in (START, BEGUN, known, DONE):
        attempt.add(fact)

    (training,) = Case(attempt, GONE, judge(attempt, GONE)).trainings

    assert training.started.trainable_parameters == 5


class TestEveryRule:
    def test_ids_are_different(self):
        ids = [one.id for one in all_rules()]

        assert sorted(set(ids)) == sorted(ids)

    @pytest.mark.parametrize("id", [one.id for one in all_rules()])
    def test_has_a_page_that_says_what_to_do(self, id: str):
        page = explanations()[id]

        assert len(page.split("\n\n")) >= 3, page

    @pytest.mark.parametrize("one", all_rules(), ids=lambda one: one.id)
    def test_says_nothing_of_an_empty_record(self, one: Rule):
        attempt = Attempt("a")
        story = Story(state="unknown", chip="", severity="info", headline="")

        outcome = one.judge(Case(attempt, GONE, story))

        assert not isinstance(outcome, Verdict)
