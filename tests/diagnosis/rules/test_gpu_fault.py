"""Faults of a card, and what only looks like one."""

import math

import pytest

from tb_health_plugin.diagnosis.rules.gpu_fault import RULE
from tests.diagnosis.rules.histories import (
    ask,
    run_started,
    seconds_of,
    training_ended,
    training_started,
)

COUNT = 20
NONE = math.nan


def run(*, failed: bool = False, **columns):
    end = {"reason": "raised", "exception": "InternalError"} if failed else {}
    samples = {f"gpu0_{name}": values for name, values in columns.items()}
    return ask(
        RULE,
        run_started(),
        training_started(),
        training_ended(COUNT, 100, **end),
        samples={
            "wall_time": seconds_of(COUNT),
            "step": [5.0 * second for second in range(COUNT)],
            **samples,
        },
    )


def once(value: float, at: int = 12) -> list[float]:
    return [value if second == at else NONE for second in range(COUNT)]


@pytest.mark.parametrize(
    ("code", "fix"),
    [
        # What NVIDIA's catalogue asks for at once: RESTART_APP, RESET_GPU, RESTART_BM.
        (8, "Start the training again"),
        (32, "Start the training again"),
        (94, "Start the training again"),
        *[(code, "Reset the GPU") for code in (46, 48, 62, 64, 74, 95, 109, 110)],
        *[(code, "Reset the GPU") for code in (119, 120, 136, 140, 143, 144, 150)],
        *[(code, "Reset the GPU") for code in (158, 171, 172)],
        (79, "Restart the machine"),
    ],
)
def test_a_number_of_the_card(code: int, fix: str):
    found = run(xid=once(code), failed=True)

    assert found.detail == f"xid {code}"
    assert found.severity == "critical"
    assert found.confidence == "proven"
    assert found.cause_at.step == 60
    assert found.fixes[0].title.startswith(fix)
    assert len(found.headline) <= 100


@pytest.mark.parametrize("code", [8, 32, 94])
def test_another_program_on_the_card_may_have_met_it(code: int):
    assert run(xid=once(code)).severity == "warning"


def test_corrected_errors_are_only_good_to_know():
    found = run(xid=once(92), failed=True)

    assert (found.severity, found.explains) == ("info", ())
    assert found.headline.startswith("GPU 0 reports")
    assert found.fixes[0].title == "Nothing has to be done at once"


def test_what_is_good_to_know_does_not_hide_a_fault():
    xids = [92.0 if t == 3 else 31.0 if t == 12 else NONE for t in range(COUNT)]

    assert run(xid=xids, failed=True).detail == "xid 31"


def test_a_card_that_is_lost():
    found = run(lost=[0.0] * 12 + [1.0] * 8)

    assert (found.detail, found.chip) == ("lost", "GPU lost")
    assert found.cause_at.step == 60


def test_why_it_was_lost_is_told_first():
    found = run(lost=[0.0] * 12 + [1.0] * 8, xid=once(79))

    assert found.detail == "xid 79"
    assert "fell off the bus" in found.headline


def test_errors_of_memory_in_this_run():
    found = run(ecc_uncorrected_errors=[3.0] * 10 + [5.0] * 10)

    assert found.detail == "ecc"
    assert found.headline.startswith("GPU 0 failed: 2 errors")


def test_a_row_that_could_not_be_replaced_is_a_warning():
    assert run(remap_failed=[1.0] * COUNT).severity == "warning"


@pytest.mark.parametrize("code", [13, 31, 69, 137])
def test_a_number_of_a_program_that_failed(code: int):
    found = run(xid=once(code), failed=True)

    assert found.confidence == "likely"
    assert "sanitizer" in found.fixes[0].code


@pytest.mark.parametrize("code", [13, 31, 69, 137])
def test_a_number_of_a_program_in_a_run_that_finished(code: int):
    assert run(xid=once(code)) is None


@pytest.mark.parametrize("code", [14, 37, 43, 44, 45, 63, 106, 154, 157, 9_999])
def test_numbers_that_say_nothing_by_themselves(code: int):
    assert run(xid=once(code), failed=True) is None


def test_errors_from_before_this_run():
    assert run(ecc_uncorrected_errors=[3.0] * COUNT) is None
    assert run(ecc_lifetime_errors=[1.0] * 10 + [2.0] * 10) is None


def test_a_healthy_card():
    zero = [0.0] * COUNT

    assert run(lost=zero, remap_failed=zero, ecc_uncorrected_errors=zero) is None


def test_a_bus_that_sends_again_now_and_then():
    assert run(pcie_replays=[float(second) for second in range(COUNT)]) is None


def test_no_gpu():
    assert run() is None
