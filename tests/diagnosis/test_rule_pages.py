"""Every verdict has a page, and the reference in `docs/` is made of them."""

import json
import re
from pathlib import Path

import pytest

import tb_health_plugin.diagnosis as package
from tb_health_plugin.diagnosis.ending_pages import ENDINGS
from tb_health_plugin.diagnosis.official_docs import OFFICIAL, official
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


class TestOfficialPages:
    # There is nothing to read up on: nobody failed, or nobody knows at what.
    WITHOUT = ("healthy", "too_short", "unknown", "user_interrupt")

    @pytest.mark.parametrize("id", IDS)
    def test_every_verdict_names_one(self, id: str):
        assert bool(official(id)) == (id not in self.WITHOUT)

    @pytest.mark.parametrize("id", OFFICIAL)
    def test_they_stand_on_the_page_by_their_own_title(self, id: str):
        shown = as_text(pages()[id])

        for doc in official(id):
            assert re.match(
                r"(Keras|TensorFlow|Python|Linux|Docker|NV|NumPy)", doc.name
            )
            assert re.fullmatch(r"https://[a-z0-9.]+/[\w./-]+", doc.url)
            assert f"  {doc.name}\n    {doc.url}" in shown


def test_the_reference_is_current():
    """Run `make docs` when this fails."""
    assert DOCUMENT.read_text() == reference()
