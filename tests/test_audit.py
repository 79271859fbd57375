"""What is known of our dependencies is told, and what nobody knows is not good news."""

from tests.audit import not_asked, weaknesses

REPORT = {
    "dependencies": [
        {"name": "good", "version": "1.0", "vulns": []},
        {
            "name": "bad",
            "version": "2.0",
            "vulns": [{"id": "X-1", "fix_versions": ["2.1", "3.0"]}],
        },
        {"name": "odd", "skip_reason": "not found"},
    ]
}


def test_a_weakness_is_told_with_the_version_that_mends_it():
    assert weaknesses(REPORT) == ["bad 2.0: X-1, fixed in 2.1, 3.0"]


def test_a_package_that_nobody_knows_is_told_as_such():
    assert not_asked(REPORT) == ["odd (not found)"]
