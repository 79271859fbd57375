"""What is said of recorded runs: every claim has its reason, evidence and advice."""

import io

import pytest
from rich.console import Console

from tb_health_plugin.cli import why
from tb_health_plugin.diagnosis.engine import judge
from tb_health_plugin.diagnosis.verdict import Verdict
from tests import runs
from tests.pasted import problem
from tests.runs.scrub import told

LONGEST_HEADLINE = 110


def findings(name: str) -> tuple[Verdict, ...]:
    return judge(runs.attempt(name), runs.GONE).findings


@pytest.mark.parametrize("name", runs.names())
class TestEveryFinding:
    def test_says_why_it_is_as_sure_as_it_is(self, name: str):
        for one in findings(name):
            assert one.confidence in ("proven", "likely", "possible")
            assert one.because.endswith("."), one.because
            assert one.because not in (one.headline, *(e.text for e in one.evidence))

    def test_rests_on_evidence(self, name: str):
        for one in findings(name):
            assert one.evidence, one.headline
            texts = [evidence.text for evidence in one.evidence]
            assert len(texts) == len(set(texts))

    def test_has_a_headline_that_fits_a_line(self, name: str):
        for one in findings(name):
            assert len(one.headline) <= LONGEST_HEADLINE, one.headline
            assert not one.headline.endswith("."), one.headline

    def test_is_no_alarm_without_advice(self, name: str):
        for one in findings(name):
            assert one.fixes or one.severity == "info", one.headline
            assert all(fix.why.strip() for fix in one.fixes)

    def test_has_lines_that_can_be_pasted(self, name: str):
        lines = [fix.code for one in findings(name) for fix in one.fixes if fix.code]

        assert {code: problem(code) for code in lines if problem(code)} == {}

    def test_reads_the_same_in_a_terminal(self, name: str):
        answer = told(runs.history(name))
        shown = io.StringIO()
        why.show(answer, Console(file=shown, width=10_000, highlight=False))

        verdict = answer["verdict"]
        sure = f"[{verdict['confidence']}] " if verdict["evidence"] else ""
        assert f"{sure}{verdict['because']}" in " ".join(shown.getvalue().split())
