"""Rules that somebody silenced or tuned: not asked, and told as such."""

from collections.abc import Mapping

import pytest

from tb_health_plugin.diagnosis.case import Case
from tb_health_plugin.diagnosis.choices import Choices, choices
from tb_health_plugin.diagnosis.engine import judge
from tb_health_plugin.diagnosis.option import Option
from tb_health_plugin.diagnosis.rule import Rule
from tb_health_plugin.diagnosis.rules import all_rules
from tb_health_plugin.diagnosis.verdict import NotMeasured, Silenced, Tuned
from tb_health_plugin.events import facts
from tb_health_plugin.events.rule_choices import OPTIONS, rule_ids
from tb_health_plugin.reading.run_history import Attempt
from tests import runs

SHARE = Option("share", 0.5, "Share that counts.")


def says_its_share(case: Case) -> NotMeasured:
    return NotMeasured(what="share", why=f"{case.tuned(SHARE):g}")


ASKED = Rule(id="asked", judge=says_its_share, options=(SHARE,))
OTHER = Rule(id="other", judge=says_its_share)


def attempt(run: Mapping[str, str] | None = None) -> Attempt:
    made = Attempt("a")
    if run is not None:
        made.add(facts.RulesChosen(wall_time=1.0, rules=run))
    return made


def chosen(run: Mapping[str, str], reader: Mapping[str, str]) -> Choices:
    return choices(attempt(run), [ASKED, OTHER], reader)


def test_nothing_is_asked_for():
    assert chosen({}, {}) == Choices()


@pytest.mark.parametrize(
    ("run", "reader", "silenced"),
    [
        ({"asked": "off"}, {}, [Silenced(rule="asked", by="run")]),
        ({}, {"asked": "off"}, [Silenced(rule="asked", by="reader")]),
        ({"asked": "off"}, {"asked": "on"}, []),
        ({"asked": "on"}, {"asked": "off"}, [Silenced(rule="asked", by="reader")]),
        ({"gone": "off"}, {}, []),
    ],
)
def test_the_reader_has_the_last_word(run, reader, silenced):
    assert list(chosen(run, reader).silenced) == silenced


def test_a_number_of_the_reader_replaces_one_of_the_run():
    found = chosen({"asked.share": "0.7"}, {"asked.share": "0.9"})

    assert found.numbers == {SHARE: 0.9}
    (tuned,) = found.tuned
    assert tuned == Tuned(name="asked.share", value=0.9, default=0.5, by="reader")


@pytest.mark.parametrize("wish", [{"asked.gone": "1"}, {"asked.share": "much"}])
def test_what_another_version_wrote_is_passed_over(wish):
    assert chosen(wish, {}) == Choices()


def test_a_silenced_rule_is_not_asked_and_told_as_silenced():
    story = judge(attempt({"asked": "off"}), runs.GONE, [ASKED])

    assert story.not_measured == ()
    assert story.silenced == (Silenced(rule="asked", by="run"),)


def test_a_rule_gets_the_number_that_counts():
    plain = judge(attempt(), runs.GONE, [ASKED])
    tuned = judge(attempt({"asked.share": "0.9"}), runs.GONE, [ASKED])

    assert [one.why for one in plain.not_measured] == ["0.5"]
    assert [one.why for one in tuned.not_measured] == ["0.9"]


def test_the_last_wish_of_a_run_counts():
    made = attempt({"asked": "off"})
    made.add(facts.RulesChosen(wall_time=2.0, rules={}))

    assert choices(made, [ASKED], {}).silenced == ()


class TestRecordedRuns:
    """The real rules, on what really happened."""

    def test_silenced(self):
        story = judge(
            runs.attempt("overfitting"), runs.GONE, reader={"overfitting": "off"}
        )

        assert "overfitting" not in [one.id for one in story.findings]

    def test_a_loss_that_is_nan_never_looks_well(self):
        reader = {"nan_op": "off"}

        story = judge(runs.attempt("nan_op"), runs.GONE, reader=reader)

        assert story.verdict is not None
        assert (story.verdict.id, story.severity) == ("unknown", "critical")
        assert "rules that may say why are silenced" in story.headline
        assert story.verdict.evidence[0].text == "Silenced: nan_op."

    def test_how_a_run_ended_is_told_all_the_same(self):
        reader = {"host_oom": "off", "memory_leak": "off"}

        story = judge(runs.attempt("host_oom"), runs.GONE, reader=reader)

        assert story.state == "died"
        assert story.verdict is not None
        assert story.verdict.id == "host_oom"

    def test_a_higher_share_makes_a_warning_a_note(self):
        reader = {"input_bound.warning_share": "1.0"}

        story = judge(runs.attempt("input_bound"), runs.GONE, reader=reader)

        found = {one.id: one.severity for one in story.findings}
        assert found["input_bound"] == "info"

    @pytest.mark.parametrize(
        ("name", "wish"),
        [
            ("overfitting", {"overfitting.clear_rise": "1000"}),
            ("slow_callback", {"slow_callback.warning_share": "1"}),
            ("unscaled_data", {"unscaled_data.large_target": "1e12"}),
            ("vanishing_gradients", {"vanishing_gradients.faded": "0"}),
        ],
    )
    def test_a_number_that_is_never_reached_finds_nothing(self, name, wish):
        story = judge(runs.attempt(name), runs.GONE, reader=wish)

        assert name not in [one.id for one in story.findings]


def test_the_trainer_knows_every_rule_and_number():
    """Edit `OPTIONS` in `events/rule_choices.py` when this fails."""
    assert rule_ids() == {rule.id for rule in all_rules()}
    assert dict(OPTIONS) == {
        rule.id: tuple(option.name for option in rule.options)
        for rule in all_rules()
        if rule.options
    }
