"""What is missing makes findings fewer and weaker, never surer and never wrong."""

import functools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tb_health_plugin.diagnosis.as_json import answer
from tb_health_plugin.diagnosis.engine import judge
from tb_health_plugin.diagnosis.verdict import Story
from tb_health_plugin.events import facts
from tb_health_plugin.reading.run_history import Attempt, RunHistory
from tests import runs
from tests.runs.missing_parts import (
    FROM_WATCHER,
    copied,
    optional_fields,
    without_fields,
    without_watcher,
)

SURENESS = {"possible": 1, "likely": 2, "proven": 3}
# Facts that tell how a run ended. Without them it ended in another way.
OF_THE_END = (
    facts.RunEnded,
    facts.ProcessEnded,
    facts.TrainingEnded,
    facts.TrainingStarted,
    facts.StopRequested,
    facts.EpochEnded,
)

recorded = functools.cache(runs.attempt)


@functools.cache
def sureness_with_everything(name: str) -> dict[str, int]:
    findings = judge(recorded(name), runs.GONE).findings
    return {one.id: SURENESS[one.confidence] for one in findings}


def judged(attempt: Attempt) -> Story:
    """The story, after a check that no rule failed and that it can be told."""
    story = judge(attempt, runs.GONE)
    failed = [m for m in story.not_measured if m.what.startswith("the rule ")]
    assert failed == []
    answer(RunHistory("run", [attempt]), story)
    return story


def check(name: str, attempt: Attempt) -> None:
    before = sureness_with_everything(name)
    for one in judged(attempt).findings:
        sure = SURENESS[one.confidence]
        if one.id in before:
            assert sure <= before[one.id], one.headline
        else:
            assert one.confidence != "proven", one.headline


@st.composite
def damaged(draw: st.DrawFn, names: list[str]) -> tuple[str, Attempt]:
    """A recorded run that lost some of everything."""
    name = draw(st.sampled_from(names))
    attempt = recorded(name)
    kinds = sorted(
        {type(fact) for fact in attempt.everything()}, key=lambda kind: kind.__name__
    )
    lost_kinds = draw(st.sets(st.sampled_from(kinds), max_size=3))
    lost_share = draw(st.sampled_from([0, 0, 20, 50, 90]))
    luck = draw(st.randoms(use_true_random=False))
    columns = attempt.samples.names
    lost_columns = draw(st.sets(st.sampled_from(columns))) if columns else set()
    result = copied(
        attempt,
        keeps=lambda fact: (
            type(fact) not in lost_kinds and luck.randrange(100) >= lost_share
        ),
        without_columns=frozenset(lost_columns),
    )
    for kind in draw(st.sets(st.sampled_from(kinds), max_size=2)):
        fields = draw(st.sets(st.sampled_from(optional_fields(kind)), max_size=4))
        result = without_fields(result, kind, fields)
    return name, result


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(damaged(runs.names()))
def test_random_loss_makes_nothing_surer(lost: tuple[str, Attempt]):
    check(*lost)


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(runs.names()), st.integers(0, 1_000))
def test_a_file_that_was_cut_off_makes_no_rule_fail(name: str, share: int):
    attempt = recorded(name)
    begin, end = attempt.started_at, attempt.last_seen_at
    assert begin is not None
    assert end is not None

    judged(attempt.until(begin + (end - begin) * share / 1_000))


@pytest.mark.parametrize("name", runs.names())
class TestEachRun:
    def test_without_a_watcher(self, name: str):
        check(name, without_watcher(recorded(name)))

    def test_without_gradients(self, name: str):
        attempt = recorded(name)

        check(name, copied(attempt, keeps=lambda f: not isinstance(f, facts.Inspected)))

    def test_without_samples(self, name: str):
        check(name, copied(recorded(name), rows=slice(0)))

    @pytest.mark.thorough
    def test_without_any_one_field(self, name: str):
        attempt = recorded(name)
        for kind in {type(fact) for fact in attempt.everything()}:
            for field in optional_fields(kind):
                check(name, without_fields(attempt, kind, {field}))


@pytest.mark.thorough
@pytest.mark.parametrize("name", runs.healthy_names())
def test_a_healthy_run_raises_no_alarm_for_what_nobody_measured(name: str):
    attempt = recorded(name)
    kinds = {type(fact) for fact in attempt.everything()} - set(OF_THE_END)
    poorer = [
        without_watcher(attempt),
        *(copied(attempt, keeps=lambda f, k=kind: type(f) is not k) for kind in kinds),
        *(
            copied(attempt, without_columns=frozenset({column}))
            for column in attempt.samples.names
        ),
        *(
            without_fields(attempt, kind, {field})
            for kind in kinds
            for field in optional_fields(kind)
        ),
    ]

    for one in poorer:
        alarms = [f.headline for f in judged(one).findings if f.severity != "info"]
        assert alarms == []


def test_the_watcher_is_really_taken_away():
    attempt = without_watcher(recorded("killed_outside"))

    assert not len(attempt.samples)
    assert not any(attempt.all(kind) for kind in FROM_WATCHER)
