"""Every way of using the tab, in a real browser, on runs that really were recorded."""

import json
import math
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from demo.tensorboard_server import TensorBoardServer, wait_until
from tb_health_plugin.events import facts
from tb_health_plugin.events.attempt import HEALTH_DIRECTORY, FileName
from tb_health_plugin.events.event_file import EventFile
from tests.end_to_end.light_tensorboard import tensorboard
from tests.plain_events import write_scalars

pytestmark = [pytest.mark.live, pytest.mark.browser]

RECORDED = Path(__file__).parents[1] / "runs"
RUNS = ("host_oom", "input_hang", "lr_too_high", "vanishing_gradients", "healthy-6")
TWIN = "healthy-12"
PLAIN = "plain"
NASTY = "<img src=x onerror=document.title='hit'>\u202e\u2066abc"
MEGABYTE = "long " * 200_000
OPEN = "&p.health.view=run&p.health.run="


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some of the recorded runs, a hostile one, and one with a damaged file."""
    logs = tmp_path_factory.mktemp("ways")
    for name in (*RUNS, TWIN):
        shutil.copytree(RECORDED / name / "plugins", logs / name / "plugins")
    hostile = logs / "hostile<b>" / HEALTH_DIRECTORY / "a1"
    hostile.mkdir(parents=True)
    records = EventFile(hostile / str(FileName("records", 0)), now=1.0)
    for fact in (
        facts.RunStarted(wall_time=1.0, pid=1, settings={NASTY: f"{NASTY}\x00"}),
        facts.RunEnded(
            wall_time=2.0,
            reason="exception",
            exception=NASTY,
            message=NASTY,
            text=MEGABYTE,
        ),
    ):
        records.append_fact(fact)
    records.close()
    # What TensorBoard's own loaders read: beside a monitored run, and alone.
    write_scalars(logs / "healthy-6" / "train", {"loss": [1.0, 0.5]})
    write_scalars(logs / PLAIN, {"loss": [1.0, 0.5, math.nan]})
    damaged = next((logs / "healthy-6").rglob("records.000.tfrecord"))
    with damaged.open("ab") as file:
        file.write(b"\xff" * 32)
    return logs


@pytest.fixture(scope="module")
def tab(recorded: Path, loader: tuple[str, ...]) -> Iterator[TensorBoardServer]:
    """TensorBoard on them, with each of its loaders."""
    arguments = ["--logdir", str(recorded), "--reload_interval=2", *loader]
    with tensorboard(arguments) as running:
        rows = len(RUNS) + 3

        def ready() -> bool:
            answer = running.json("/data/plugin/health/runs")
            return answer["reading"]["complete"] and len(answer["runs"]) == rows

        wait_until(ready)
        yield running


def test_find_the_dead_run_and_read_its_verdict(
    tab: TensorBoardServer, open_page: Callable[[str], Any]
) -> None:
    page = open_page(f"{tab.url}/#health")
    inside = page.health

    inside.get_by_role("button", name="Out of memory 1").click()
    rows = inside.locator("table.runs tbody tr[aria-rowindex]")
    wait_until(lambda: rows.count() == 1)
    rows.first.click()

    inside.get_by_role("heading", name="Killed by the OS for lack of memory").wait_for()
    assert inside.get_by_text("Proven").count() == 1
    page.assert_quiet(tab.url)


def test_a_run_nobody_monitored_is_told_from_its_scalars(
    tab: TensorBoardServer, open_page: Callable[[str], Any]
) -> None:
    page = open_page(f"{tab.url}/#health&p.health.f=unmonitored")
    inside = page.health

    inside.get_by_role("link", name=PLAIN).click()

    inside.get_by_role("heading", name="The loss is NaN since step 2").wait_for()
    inside.get_by_text("callbacks=[HealthCallback(").first.wait_for()
    inside.locator("[data-lane=loss] canvas").wait_for()
    page.assert_quiet(tab.url)


def test_evidence_leads_to_its_place_and_lights_it(
    tab: TensorBoardServer, open_page: Callable[[str], Any]
) -> None:
    page = open_page(f"{tab.url}/#health{OPEN}host_oom")
    inside = page.health
    inside.locator("[data-lane=host_memory] canvas").first.wait_for()

    inside.get_by_role("button", name="Show on the timeline: Memory grew").click()

    inside.locator("[data-lane=host_memory].lit").wait_for()
    inside.get_by_role("button", name="Show everything").wait_for()
    page.address_with("p.health.from=")


def test_lanes_below_the_screen_are_drawn_when_they_come_up(
    tab: TensorBoardServer, open_page: Callable[[str], Any]
) -> None:
    page = open_page(f"{tab.url}/#health{OPEN}host_oom")
    inside = page.health
    last = inside.locator("[data-lane] canvas").last
    last.wait_for()
    page.settle()
    pixels = "canvas => canvas.toDataURL()"
    before = last.evaluate(pixels)

    # Pressed there, the key would bring them into sight.
    inside.locator(".lanes").dispatch_event("keydown", {"key": "+"})
    inside.get_by_role("button", name="Show everything").wait_for()

    assert last.evaluate(pixels) == before
    last.scroll_into_view_if_needed()
    wait_until(lambda: last.evaluate(pixels) != before)


def test_a_fix_can_be_copied(
    tab: TensorBoardServer, open_page: Callable[[str], Any]
) -> None:
    page = open_page(f"{tab.url}/#health{OPEN}host_oom")
    inside = page.health
    copy = inside.get_by_role("button", name="Copy the code").first
    # What lands in the clipboard is asked of the page: reading it needs a permission.
    copy.evaluate(
        "() => { navigator.clipboard.writeText = async t => { window.copied = t } }"
    )

    copy.click()

    inside.get_by_text("Copied").wait_for()
    assert "dataset.cache(" in copy.evaluate("() => window.copied")


def test_stacks_of_a_hang_are_a_tree(
    tab: TensorBoardServer, open_page: Callable[[str], Any]
) -> None:
    inside = open_page(f"{tab.url}/#health{OPEN}input_hang").health

    tree = inside.locator(".stacks")
    tree.get_by_text("The thread that trains").wait_for()
    assert tree.locator(".innermost .own").first.inner_text().endswith("line 40")
    assert tree.get_by_text("4 calls inside keras").count() == 1


def test_gradients_of_every_layer_are_drawn(
    tab: TensorBoardServer, open_page: Callable[[str], Any]
) -> None:
    inside = open_page(f"{tab.url}/#health{OPEN}vanishing_gradients").health

    inside.get_by_role("img", name="Gradient norm of 10 layers").wait_for()
    inside.get_by_role("heading", name="Layers", exact=True).click()
    assert inside.get_by_role("row", name="dense_9").count() == 1


def test_compare_with_the_healthy_twin_and_further_runs(
    tab: TensorBoardServer, open_page: Callable[[str], Any]
) -> None:
    page = open_page(
        f"{tab.url}/#health&p.health.view=compare&p.health.a=lr_too_high"
        f"&p.health.b={TWIN}"
    )
    inside = page.health
    inside.get_by_role("heading", name="loss is").first.wait_for()

    inside.get_by_label("Add a run").select_option("vanishing_gradients")
    inside.get_by_role("heading", name="Compare 3 runs").wait_for()
    inside.get_by_role("region", name="Run C").wait_for()
    inside.get_by_role("button", name="Difference from A").click()
    inside.locator("[data-lane=loss]").get_by_text("from A").wait_for()

    again = open_page(page.address_with("p.health.draw=difference")).health
    again.get_by_role("region", name="Run C").wait_for()
    again.locator("[data-lane=loss]").get_by_text("from A").wait_for()


def test_a_link_shows_another_person_the_same(
    tab: TensorBoardServer, open_page: Callable[[str], Any]
) -> None:
    page = open_page(f"{tab.url}/#health{OPEN}host_oom")
    inside = page.health
    inside.get_by_role("button", name="Time since start").click()
    inside.get_by_role("button", name="Zoom to the end").click()

    other = open_page(page.address_with("p.health.from=")).health
    other.get_by_role("button", name="Show everything").wait_for()
    pressed = other.locator("[aria-pressed=true]")
    pressed.get_by_text("Time since start").wait_for()

    # Back leads from a run to the list.
    inside.get_by_role("link", name="All runs").click()
    inside.locator("table.runs").wait_for()
    page.locator("body").evaluate("() => history.back()")
    inside.get_by_role("heading", name="Killed by the OS").wait_for()


def test_the_report_opens_from_disk_with_the_network_off(
    tab: TensorBoardServer,
    open_page: Callable[[str], Any],
    chromium: Any,
    tmp_path: Path,
) -> None:
    page = open_page(f"{tab.url}/#health{OPEN}host_oom")
    inside = page.health
    inside.locator("summary", has_text="Export").click()
    with page.locator("body").page.expect_download() as saved:
        inside.get_by_role("link", name="Save the report").click()
    assert re.fullmatch(
        r"health_host_oom_\d{8}-\d{4}\.html", saved.value.suggested_filename
    )
    file = tmp_path / "report.html"
    saved.value.save_as(file)

    context = chromium.new_context(offline=True)
    alone = context.new_page()
    complaints: list[str] = []
    asked: list[str] = []
    alone.on("pageerror", lambda error: complaints.append(str(error)))
    alone.on("console", lambda m: m.type == "error" and complaints.append(m.text))
    alone.on("request", lambda request: asked.append(request.url))
    alone.goto(file.as_uri())
    alone.get_by_role("heading", name="Killed by the OS for lack of memory").wait_for()
    alone.locator("[data-lane=host_memory] canvas").first.wait_for()
    alone.get_by_role("button", name="Zoom to the end").click()
    alone.get_by_role("button", name="Show everything").wait_for()
    context.close()
    assert complaints == []
    assert [url for url in asked if not url.startswith(("file:", "blob:"))] == []


def test_the_timeline_is_saved_as_a_picture_and_as_a_table(
    tab: TensorBoardServer, open_page: Callable[[str], Any]
) -> None:
    page = open_page(f"{tab.url}/#health{OPEN}host_oom")
    inside = page.health
    inside.locator("[data-lane=host_memory] canvas").first.wait_for()
    inside.locator("summary", has_text="Export").click()

    def saved(kind: str) -> bytes:
        with page.locator("body").page.expect_download() as download:
            inside.get_by_role("button", name=kind, exact=True).click()
        return Path(download.value.path()).read_bytes()

    svg = saved("SVG")
    assert b"Killed by the OS" in svg
    assert svg.endswith(b"</svg>")
    assert saved("PNG").startswith(b"\x89PNG")
    assert saved("CSV").startswith(b"Step,")
    assert json.loads(saved("JSON"))["told"]["verdict"]["id"] == "host_oom"

    inside.get_by_label("Which lanes").select_option("host_memory")
    one_lane = saved("SVG")
    assert b"Host memory" in one_lane
    assert len(one_lane) < len(svg) / 2
    columns = saved("CSV").splitlines()[0]
    assert b"memory" in columns.lower()
    assert b"Loss" not in columns
    assert page.complaints == []


def test_hostile_words_are_only_words(
    tab: TensorBoardServer, open_page: Callable[[str], Any]
) -> None:
    page = open_page(f"{tab.url}/#health")
    inside = page.health
    inside.get_by_role("link", name="hostile<b>").click()
    inside.locator("main h1", has_text="hostile<b>").wait_for()
    inside.locator("summary", has_text="Settings and environment").click()
    inside.locator("summary", has_text="Raw events").click()
    inside.locator(".raw-events").wait_for()
    page.settle()

    assert inside.locator("img").count() == 0
    assert inside.locator("h1 b").count() == 0
    # Of the megabyte as much is shown as anybody reads, and it breaks nothing.
    assert inside.locator("pre").first.inner_text().endswith("more characters)")
    assert page.pixels_beyond == 0
    assert page.complaints == []


def test_a_damaged_file_is_named(
    tab: TensorBoardServer, open_page: Callable[[str], Any]
) -> None:
    inside = open_page(f"{tab.url}/#health").health

    inside.locator("summary", has_text="1 file could not be read completely").click()

    inside.get_by_text("records.000.tfrecord").wait_for()


def test_the_list_can_be_used_without_a_mouse(
    tab: TensorBoardServer, open_page: Callable[[str], Any]
) -> None:
    page = open_page(f"{tab.url}/#health")
    inside = page.health
    inside.locator("table.runs").wait_for()
    somewhere = inside.get_by_role("button", name="All", exact=False).first

    somewhere.press("?")
    inside.get_by_role("dialog", name="Keys").wait_for()
    inside.get_by_role("button", name="Close").press("Escape")
    somewhere.press("j")
    focused = inside.locator("a.run-name:focus")
    focused.wait_for()
    focused.press("x")
    inside.get_by_role("region", name="Runs to compare").wait_for()
    focused.press("Enter")
    inside.get_by_role("region", name="Verdict").wait_for()
    link = inside.get_by_role("link", name="All runs")
    link.press("g")
    link.press("r")
    inside.locator("table.runs").wait_for()


def test_tensorboard_gone_and_back_again(
    recorded: Path, open_page: Callable[[str], Any]
) -> None:
    arguments = ["--logdir", str(recorded), "--reload_interval=2"]
    with tensorboard(arguments) as first:
        page = open_page(f"{first.url}/#health{OPEN}host_oom")
        inside = page.health
        inside.get_by_role("heading", name="Killed by the OS").wait_for()
        port = int(first.url.rsplit(":", 1)[1])
    # Asking again is what its own clock would do in half a minute.
    page.locator("iframe").first.evaluate(
        "frame => frame.contentWindow.dispatchEvent(new Event('resize'))"
    )
    inside.get_by_text("TensorBoard did not answer").wait_for()
    inside.get_by_role("heading", name="Killed by the OS").wait_for()
    with tensorboard(arguments, port=port):
        inside.get_by_role("button", name="Try again").click()
        inside.get_by_text("TensorBoard did not answer").wait_for(state="detached")
