"""What a user asks of rules is checked at once, and said in one sentence."""

import pytest

from tb_health_plugin.events.rule_choices import BadRules, checked, loaded, parsed

WISH = {"overfitting": "off", "input_bound.warning_share": "0.8"}


def test_a_mapping_becomes_plain_text():
    assert checked({"overfitting": "off", "input_bound.warning_share": 0.8}) == WISH


def test_the_form_of_a_command_line():
    assert parsed("overfitting=off, input_bound.warning_share=0.8") == WISH
    assert parsed("") == {}


def test_the_form_of_a_file():
    assert loaded('{"overfitting": "off", "input_bound.warning_share": 0.8}') == WISH


def test_what_was_recorded_is_checked_to_the_same():
    assert checked(WISH) == WISH


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"overfiting": "off"}, "no rule is called 'overfiting'; `tb-health explain`"),
        ({"input_bound.share": 1}, "input_bound has: input_bound.warning_share"),
        ({"bad_init.share": 1}, "bad_init has: none"),
        ({"overfitting": False}, 'expected "off" or "on", not False'),
        ({"input_bound.warning_share": "much"}, "expected a number of 0 or more"),
        ({"input_bound.warning_share": float("nan")}, "expected a number"),
        ({"input_bound.warning_share": -1}, "expected a number of 0 or more, not -1"),
        ({"input_bound.warning_share": True}, "expected a number"),
        (["overfitting"], "must be a mapping"),
    ],
)
def test_nonsense_is_one_clear_sentence(given, says: str):
    with pytest.raises(BadRules) as raised:
        checked(given)

    assert says in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_file_that_is_not_json():
    with pytest.raises(BadRules, match="not JSON"):
        loaded("overfitting = off")
