"""Every verdict has a page, and the reference in `docs/` is made of them."""

import json
from pathlib import Path

import pytest

import tb_health_plugin.diagnosis as package
from tb_health_plugin.diagnosis.ending_pages import ENDINGS
from tb_health_plugin.diagnosis.rule_pages import SECTIONS, Page, as_text, pages
from tb_health_plugin.diagnosis.rules import all_rules
from tests.diagnosis.rule_reference import DOCUMENT, reference

SCHEMA = json.loads((Path(package.__file__).parent / "verdict.schema.json").read_text())
IDS = SCHEMA["$defs"]["verdict"]["properties"]["id"]["enum"]


def test_every_word_of_the_vocabulary_has_a_page():
    assert sorted(pages()) == sorted(IDS)


def test_what_a_rule_finds_has_its_page_in_the_rule():
    assert not set(ENDINGS) & {rule.id for rule in all_rules()}


@pytest.mark.parametrize("page", pages().values(), ids=lambda page: page.id)
def test_a_page_answers_the_four_questions(page: Page):
    assert tuple(page.sections) == SECTIONS
    assert all(text.strip() for text in page.sections.values())
    assert page.title.endswith(".")
    assert all(len(line) <= 100 for line in as_text(page).splitlines())


def test_numbers_that_may_be_set_stand_on_the_page():
    shown = as_text(pages()["input_bound"])

    assert "Numbers you may set\n  input_bound.warning_share: " in shown
    assert "Usually 0.5." in shown


def test_the_reference_is_current():
    """Run `make docs` when this fails."""
    assert DOCUMENT.read_text() == reference()
