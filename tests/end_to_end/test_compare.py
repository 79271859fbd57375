"""Comparing a run that crashed with a healthy one, in a real browser."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from demo.tensorboard_server import TensorBoardServer, wait_until
from tb_health_plugin.events import facts
from tests.end_to_end.ink import wait_for_ink
from tests.end_to_end.light_tensorboard import tensorboard

pytestmark = [pytest.mark.live, pytest.mark.browser]

STEPS, EPOCH_STEPS, LEAK_FROM, BEGAN = 600, 100, 400, 1_000.0
GIB = float(1 << 30)
COMPARISON = "p.health.view=compare&p.health.a=crashed"


@pytest.fixture
def twins(logs: Path, write_attempt) -> Iterator[TensorBoardServer]:
    """TensorBoard on a run whose memory leaks and on one whose memory does not."""
    ends: dict[str, list[facts.Fact]] = {
        "crashed": [
            facts.ProcessEnded(
                wall_time=BEGAN + STEPS,
                step=STEPS,
                signal=9,
                seen_by="pidfd",
                cgroup_oom_kills=1,
            )
        ],
        "healthy": [
            facts.TrainingEnded(
                wall_time=BEGAN + STEPS, step=STEPS, training=0, epochs_done=6
            ),
            facts.RunEnded(wall_time=BEGAN + STEPS, step=STEPS, reason="finished"),
        ],
    }
    for seed, (name, end) in enumerate(ends.items()):
        noise = np.random.default_rng(seed).normal(size=STEPS)
        held = 2 * GIB * (1 + 0.005 * noise)
        if name == "crashed":
            held[LEAK_FROM:] += np.arange(STEPS - LEAK_FROM) * GIB / 20
        start = facts.RunStarted(wall_time=BEGAN, pid=1, program="train.py")
        cached = {"data.cache": str(name == "crashed")}
        begun = facts.TrainingStarted(
            wall_time=BEGAN, training=0, planned_epochs=6, settings=cached
        )
        write_attempt(
            name,
            told=[start, begun, *_epochs(), *end],
            samples=[
                (BEGAN + 1 + at, {"step": at + 1, "process_rss_bytes": held[at]})
                for at in range(STEPS)
            ],
        )
    with tensorboard(["--logdir", str(logs), "--reload_interval=1"]) as running:
        wait_until(lambda: len(running.json("/data/plugin/health/runs")["runs"]) == 2)
        yield running


def _epochs() -> Iterator[facts.EpochEnded]:
    for epoch in range(STEPS // EPOCH_STEPS):
        first = epoch * EPOCH_STEPS
        yield facts.EpochEnded(
            wall_time=BEGAN + first + EPOCH_STEPS,
            started_at=BEGAN + first,
            step=first + EPOCH_STEPS,
            training=0,
            epoch=epoch,
            first_step=first,
            last_step=first + EPOCH_STEPS,
        )


def test_from_a_crash_to_its_first_difference_in_two_clicks(
    twins: TensorBoardServer, open_page: Callable[[str], Any]
) -> None:
    page = open_page(f"{twins.url}/#health")
    tab = page.health

    tab.get_by_role("link", name="crashed").first.click()
    tab.get_by_role("link", name="Compare with a healthy run").click()

    tab.get_by_role("heading", name="Then host memory grows in A").wait_for()
    tab.get_by_role("region", name="Run B").get_by_text(
        "Finished as planned"
    ).wait_for()
    tab.get_by_text("Try this first").wait_for()
    tab.get_by_role("button", name="First difference: Host memory").wait_for()
    page.assert_quiet(twins.url)


def test_both_runs_are_drawn_in_one_lane(
    twins: TensorBoardServer, open_page: Callable[[str], Any]
) -> None:
    page = open_page(f"{twins.url}/#health&{COMPARISON}")
    canvas = page.health.locator("[data-lane=host_memory] canvas")
    canvas.wait_for()

    for ink in ("--a", "--b"):
        wait_for_ink(canvas, 0.2, ink)


def test_a_link_keeps_the_runs_their_alignment_and_the_zoom(
    twins: TensorBoardServer, open_page: Callable[[str], Any]
) -> None:
    page = open_page(f"{twins.url}/#health&{COMPARISON}&p.health.b=healthy")
    tab = page.health

    tab.get_by_role("button", name="Same time since start").click()
    tab.get_by_role("heading", name="after the start. Then host memory").wait_for()
    tab.get_by_role("button", name="Zoom to the first difference").click()
    again = open_page(page.address_with("p.health.from="))
    pressed = again.health.locator("[aria-pressed=true]")
    pressed.get_by_text("Same time since start").wait_for()
    again.health.get_by_role("button", name="Show everything").wait_for()


@pytest.mark.parametrize(
    ("way", "said"), [("Same epoch", "epoch"), ("From the end", "end")]
)
def test_runs_are_laid_over_each_other_by_epoch_and_by_their_end(
    twins: TensorBoardServer, open_page: Callable[[str], Any], way: str, said: str
) -> None:
    page = open_page(f"{twins.url}/#health&{COMPARISON}&p.health.b=healthy")
    tab = page.health

    tab.get_by_role("button", name=way).click()

    tab.get_by_role("heading", name="Then host memory").wait_for()
    tab.locator("[data-lane=host_memory]").wait_for()
    again = open_page(page.address_with("p.health.align=")).health
    again.locator("[aria-pressed=true]").get_by_text(way).wait_for()
    assert said in again.get_by_role("heading", name="Then host memory").inner_text()
    page.assert_quiet(twins.url)


def test_nothing_sticks_out_on_a_phone(
    twins: TensorBoardServer, open_page: Callable[[str], Any]
) -> None:
    page = open_page(f"{twins.url}/#health&{COMPARISON}")
    page.locator("body").page.set_viewport_size({"width": 390, "height": 800})
    page.health.locator("[data-lane=host_memory] canvas").wait_for()

    assert page.pixels_beyond == 0
