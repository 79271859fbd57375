"""Each way our plugin can fail leaves TensorBoard and its other tabs working."""

import contextlib
import json
import urllib.error
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from demo.tensorboard_server import TensorBoardServer, tensorboard, wait_until

pytestmark = pytest.mark.live

FAULTS = Path(__file__).with_name("faults")
HEALTH = "/data/plugin/health"
TAB = "tb_health_plugin.server.health_tab"
ROUTES = "tb_health_plugin.server.routes"
VIEW = "tb_health_plugin.server.view"

Break = Callable[..., contextlib.AbstractContextManager[TensorBoardServer]]


@pytest.fixture
def broken(recorded_runs: Path) -> Break:
    """TensorBoard with a fault in `module`, as `faults/sitecustomize.py` makes it."""

    @contextlib.contextmanager
    def start(module: str, fault: str = "") -> Iterator[TensorBoardServer]:
        env = {"PYTHONPATH": str(FAULTS), "FAULTY_MODULE": module, "FAULT": fault}
        arguments = ["--logdir", str(recorded_runs), "--reload_interval=1"]
        with tensorboard(arguments, env=env) as server:
            yield server
            assert_the_others_work(server)

    return start


def assert_the_others_work(server: TensorBoardServer) -> None:
    expected = {"finished/train", "killed/train"}
    wait_until(lambda: server.json("/data/plugin/scalars/tags").keys() == expected)
    listing = server.json("/data/plugins_listing")
    assert listing["scalars"]["enabled"]
    assert listing["timeseries"]["enabled"]
    assert server.process.poll() is None


def error_of(server: TensorBoardServer, path: str) -> tuple[int, dict[str, Any]]:
    with pytest.raises(urllib.error.HTTPError) as caught:
        server.get(path)
    with caught.value as answer:
        return answer.code, json.load(answer)["error"]


def test_a_missing_dependency_costs_our_tab_only(broken: Break) -> None:
    with broken("google_crc32c") as server:
        assert "health" not in server.json("/data/plugins_listing")
        assert "google_crc32c is missing on purpose" in server.log


def test_a_fault_while_our_plugin_loads_costs_our_tab_only(broken: Break) -> None:
    with broken(TAB, "HealthTab.__init__ = fail") as server:
        assert "health" not in server.json("/data/plugins_listing")
        assert "broken on purpose" in server.log


def test_a_fault_while_our_routes_are_made_costs_our_routes_only(
    broken: Break,
) -> None:
    with broken(TAB, "HealthTab.get_plugin_apps = fail") as server:
        with pytest.raises(urllib.error.HTTPError, match="404") as caught:
            server.get(f"{HEALTH}/runs")
        caught.value.close()


def test_a_fault_in_is_active_disables_our_tab_only(broken: Break) -> None:
    with broken(TAB, "HealthTab.is_active = fail") as server:
        assert not server.json("/data/plugins_listing")["health"]["enabled"]


def test_a_fault_in_a_route_is_an_answer_that_points_to_the_log(
    broken: Break,
) -> None:
    with broken(ROUTES, "answers.run_list = fail") as server:
        status, error = error_of(server, f"{HEALTH}/runs")

        assert status == 500
        assert error["code"] == "internal"
        assert "broken on purpose" not in error["message"]
        assert "RuntimeError: broken on purpose" in server.log


def test_a_fault_in_one_route_leaves_our_others_working(broken: Break) -> None:
    with broken(ROUTES, "answers.run_list = fail") as server:
        story = wait_until(lambda: server.json(f"{HEALTH}/run?run=finished"))

        assert story["run"]["state"] == "finished"


def test_a_fault_in_the_reading_thread_is_said_once_and_answers_stay_empty(
    broken: Break,
) -> None:
    fault = "View.refresh = lambda self: (print('tries'), fail())"

    with broken(VIEW, fault) as server:
        wait_until(lambda: server.log.count("tries") >= 3)

        assert server.json(f"{HEALTH}/runs")["runs"] == []
        assert server.log.count("RuntimeError: broken on purpose") == 1


def test_a_fault_of_the_data_provider_leaves_our_own_runs(broken: Break) -> None:
    with broken(VIEW, "from_data_provider.list_runs = fail") as server:
        runs = wait_until(lambda: server.json(f"{HEALTH}/runs")["runs"])

        assert [run["name"] for run in runs] == ["finished", "killed"]


def test_a_missing_page_is_an_answer_that_says_what_to_do(
    broken: Break, tmp_path: Path
) -> None:
    empty = f"Routes.__init__.__kwdefaults__['static'] = Path({str(tmp_path)!r})"

    with broken(ROUTES, empty) as server:
        status, error = error_of(server, f"{HEALTH}/index.js")

        assert status == 404
        assert "Install tensorboard-plugin-health again" in error["message"]


@pytest.mark.browser
def test_a_page_that_is_no_javascript_leaves_the_other_tabs_working(
    broken: Break, tmp_path: Path, open_page: Callable[[str], Any]
) -> None:
    (tmp_path / "index.js").write_text("<html>no JavaScript")
    static = f"Routes.__init__.__kwdefaults__['static'] = Path({str(tmp_path)!r})"

    with broken(ROUTES, static) as server:
        page = open_page(f"{server.url}/#health")
        page.settle()
        assert page.complaints

        page.open_tab("Scalars")
        page.locator("tf-scalar-dashboard").get_by_text("epoch_loss").first.wait_for()
        page.open_tab("Time Series")
        page.locator("metrics-dashboard").get_by_text("epoch_loss").first.wait_for()
