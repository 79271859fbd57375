"""A run that goes on: rules are asked now and then, and findings do not flicker."""

import pytest

from tb_health_plugin.diagnosis import engine
from tb_health_plugin.diagnosis.case import Case
from tb_health_plugin.diagnosis.engine import judge
from tb_health_plugin.diagnosis.live import LiveJudge, changes
from tb_health_plugin.diagnosis.rule import Rule
from tb_health_plugin.diagnosis.verdict import Moment, Verdict
from tb_health_plugin.events import facts
from tb_health_plugin.reading.liveness import Life
from tb_health_plugin.reading.run_history import Attempt
from tests import runs

LIVES = Life(alive=True, because="Process 1 is running.")


def finding(confidence="likely", severity="warning", id="input_bound") -> Verdict:
    return Verdict(
        id=id,
        severity=severity,
        confidence=confidence,
        headline=f"{id} it is",
        because="It was seen.",
        cause_at=Moment(step=1),
        stopped_at=Moment(step=2),
    )


class Training:
    """A run that goes on, with one rule that finds what the test wants."""

    def __init__(self, monkeypatch) -> None:
        self.asked = 0
        self.finds: Verdict | None = None
        self.judging = LiveJudge()
        self.attempt = Attempt("a")
        self.attempt.add(facts.RunStarted(wall_time=0.0, pid=1))
        self.attempt.add(facts.TrainingStarted(wall_time=0.0, training=0))
        rules = (Rule(id="input_bound", judge=self._judge),)
        monkeypatch.setattr(engine, "all_rules", lambda: rules)

    def _judge(self, case: Case) -> Verdict | None:
        self.asked += 1
        return self.finds

    def at(self, second: float, finds: Verdict | None = None) -> list[str]:
        self.finds = finds
        self.attempt.samples.append({"wall_time": [second], "step": [10 * second]})
        story = self.judging.look(self.attempt, LIVES)
        assert story.state == "running"
        return [one.id for one in story.findings]


@pytest.fixture
def training(monkeypatch) -> Training:
    return Training(monkeypatch)


class TestWhenRulesAreAsked:
    def test_not_at_every_sample(self, training: Training):
        for second in range(60):
            training.at(second)

        assert training.asked == 12

    def test_more_rarely_as_the_run_grows_old(self, training: Training):
        for second in range(0, 86_400, 10):
            training.at(second)

        assert training.asked < 2_000
        before = training.asked
        for second in range(86_400, 86_400 + 600):
            training.at(second)
        assert training.asked - before == 10

    def test_at_once_when_something_happened(self, training: Training):
        training.at(100)
        training.attempt.add(facts.FirstBadNumber(wall_time=100.5, training=0))
        training.at(101)

        assert training.asked == 2

    def test_not_at_all_while_nothing_is_new(self, training: Training):
        training.at(1)
        first = training.judging.look(training.attempt, LIVES)

        assert training.judging.look(training.attempt, LIVES) is first
        assert training.asked == 1

    def test_where_it_stands_is_told_every_time(self, training: Training):
        training.at(100)
        training.at(101)

        story = training.judging.look(training.attempt, LIVES)

        assert story.headline == "Running, at step 1,010"
        assert training.asked == 1


class TestFlickering:
    def test_what_is_there_at_the_first_look_is_told(self, training: Training):
        assert training.at(0, finding()) == ["input_bound"]

    def test_what_comes_later_is_told_when_it_is_found_again(self, training: Training):
        training.at(0)

        assert training.at(10, finding()) == []
        assert training.at(20, finding()) == ["input_bound"]

    def test_what_is_proven_is_told_at_once(self, training: Training):
        training.at(0)

        assert training.at(10, finding("proven")) == ["input_bound"]

    def test_a_finding_stays_over_one_miss_and_goes_after_two(self, training: Training):
        training.at(0, finding())

        assert training.at(10) == ["input_bound"]
        assert training.at(20, finding()) == ["input_bound"]
        assert training.at(30) == ["input_bound"]
        assert training.at(40) == []

    def test_one_that_comes_and_goes_never_opens(self, training: Training):
        training.at(0)

        for n in range(1, 40):
            assert training.at(10 * n, finding() if n % 2 else None) == []


@pytest.mark.parametrize("name", ["overfitting", "input_bound", "host_oom", "healthy"])
def test_an_ended_run_is_judged_as_ever(name: str):
    attempt = runs.attempt(name)

    assert LiveJudge().look(attempt, runs.GONE) == judge(attempt, runs.GONE)


class TestChanges:
    def test_opened_changed_closed(self):
        old = [finding(), finding(id="overfitting")]
        new = [finding("proven"), finding(id="nan_op")]

        told = [(one.kind, one.finding.id) for one in changes(old, new)]

        assert told == [
            ("changed", "input_bound"),
            ("opened", "nan_op"),
            ("closed", "overfitting"),
        ]

    def test_the_same_is_no_change(self):
        assert list(changes([finding()], [finding()])) == []
