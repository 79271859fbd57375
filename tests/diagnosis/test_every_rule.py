"""What a rule is made of, so that nobody forgets a part when adding one."""

from pathlib import Path

import pytest

from tb_health_plugin.diagnosis.engine import judge
from tb_health_plugin.diagnosis.rule_pages import SECTIONS, pages
from tb_health_plugin.diagnosis.rules import all_rules
from tests import runs

ROOT = Path(__file__).parents[2]
IDS = [rule.id for rule in all_rules()]

_GPU = "needs a GPU; the stand-in for NVIDIA's library is in tests/nvml"
# Rules of which no recorded real run is kept, and why.
WITHOUT_A_RUN = {
    "disk_slow": "needs a disk that is slow and not only busy",
    "straggler": "its runs have several workers: tests/workers/recorded",
    "swap_thrash": "needs a machine with swap",
}
# Rules without a script that causes them, and why.
WITHOUT_A_SCRIPT = {
    "cpu_limited": "needs a control group of its own",
    "disk_full": "needs a small disk of its own",
    "disk_slow": WITHOUT_A_RUN["disk_slow"],
    "exploding_gradients": "to be written",
    "gpu_fault": _GPU,
    "gpu_idle": _GPU,
    "gpu_oom": _GPU,
    "gpu_throttled": _GPU,
    "handle_limit": "to be written",
    "no_gradient": "to be written",
    "shape_mismatch": "to be written",
    "straggler": "needs several workers; peer_lost.py shows how to start them",
    "swap_thrash": WITHOUT_A_RUN["swap_thrash"],
    "unshuffled_data": "to be written",
}


@pytest.fixture(scope="module")
def fired() -> set[str]:
    """Everything that was found in any recorded run."""
    return {
        finding.id
        for name in runs.names()
        for finding in judge(runs.attempt(name), runs.GONE).findings
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
        assert id in fired or id in WITHOUT_A_RUN

    def test_has_a_script_that_causes_it(self, id: str):
        assert has_script(id) or id in WITHOUT_A_SCRIPT


def test_exceptions_are_rules():
    assert {*WITHOUT_A_RUN, *WITHOUT_A_SCRIPT} <= set(IDS)
