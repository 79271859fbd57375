"""What a rule is made of, so that nobody forgets a part when adding one."""

from pathlib import Path

import pytest

from tb_health_plugin.diagnosis.engine import ask
from tb_health_plugin.diagnosis.rule_pages import SECTIONS, pages
from tb_health_plugin.diagnosis.rules import all_rules
from tb_health_plugin.reading.digest import bounded
from tests import runs

ROOT = Path(__file__).parents[2]
IDS = [rule.id for rule in all_rules()]

_GPU = "needs a GPU; tests/runs/gpu_trainings.py plays it on a stand-in"
# Rules of which no recorded real run is kept, and why.
WITHOUT_A_RUN = {
    "data_exhausted": "its runs are told by how they ended, through the same function",
    "handle_limit": "its run is told by the exception that ended it",
    "straggler": "its runs have several workers: tests/workers/recorded/slow_data",
}
# Rules without a script that causes them, and why.
WITHOUT_A_SCRIPT = {
    "gpu_fault": _GPU,
    "gpu_idle": _GPU,
    "gpu_oom": _GPU,
    "gpu_throttled": _GPU,
}


@pytest.fixture(scope="module")
def fired() -> set[str]:
    """What rules themselves found in recorded runs, not only the end of a run."""
    return {
        finding.id
        for name in runs.names()
        for finding in ask(bounded(runs.attempt(name)), runs.GONE).found
    }


def has_script(id: str) -> bool:
    return (ROOT / "demo" / "causes" / f"{id}.py").exists()


@pytest.mark.parametrize("id", IDS)
class TestEveryRule:
    def test_is_named_as_its_file(self, id: str):
        rules = ROOT / "tb_health_plugin" / "diagnosis" / "rules"

        assert (rules / f"{id}.py").exists()

    def test_has_a_page_with_four_sections(self, id: str):
        assert tuple(pages()[id].sections) == SECTIONS

    def test_has_tests_of_its_own(self, id: str):
        assert (ROOT / "tests/diagnosis/rules" / f"test_{id}.py").exists()

    def test_was_found_in_a_recorded_run(self, id: str, fired: set[str]):
        assert (id in fired) != (id in WITHOUT_A_RUN)

    def test_has_a_script_that_causes_it(self, id: str):
        assert has_script(id) != (id in WITHOUT_A_SCRIPT)


def test_exceptions_are_rules():
    assert {*WITHOUT_A_RUN, *WITHOUT_A_SCRIPT} <= set(IDS)
