"""`http_api.md` and the routes say the same."""

from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import Client

from tb_health_plugin.events import facts
from tb_health_plugin.reading.library import Library
from tb_health_plugin.reading.log_directory import Root
from tb_health_plugin.server import answers, comparison
from tb_health_plugin.server.refresher import Refresher
from tb_health_plugin.server.routes import Routes
from tb_health_plugin.server.view import View
from tests.server import http_api_examples


@pytest.fixture
def view(logs: Path, write_attempt) -> View:
    http_api_examples.write_logs(logs)
    write_attempt(
        "diverged",
        told=[
            facts.RunStarted(wall_time=1.0, pid=1),
            facts.EpochEnded(wall_time=2.0, epoch=0, metrics={"loss": float("nan")}),
        ],
        samples=[(second, {"loss": float("nan")}) for second in (1.0, 2.0)],
    )
    made = View(Library([Root(logs)]), clock=lambda: 200.0)
    made.refresh()
    return made


@pytest.fixture
def get(view: View):
    refresher = Refresher(lambda: None, 0)
    refresher.start()
    apps = Routes(view, refresher).apps()

    def ask(url: str, *, method: str = "GET", **headers: str) -> Any:
        client = Client(apps[url.split("?")[0]])
        return client.open(url, method=method, headers=headers)

    return ask


@pytest.mark.parametrize("name", http_api_examples.URLS)
def test_the_example_is_what_the_route_answers(tmp_path: Path, name: str):
    """After a change: python -m tests.server.http_api_examples, then read the diff."""
    real = http_api_examples.answers(tmp_path)[name]

    assert http_api_examples.examples()[name] == real


def test_every_route_is_described(view: View):
    apps = Routes(view, Refresher(lambda: None, 0)).apps()

    for path in apps:
        assert f"`GET {path}" in http_api_examples.DOCUMENT.read_text()


def test_a_run_nobody_monitored_is_listed(get):
    rows = {row["name"]: row for row in get("/runs").json["runs"]}

    assert rows["tabnet"]["monitored"] is False
    assert rows["tabnet"]["state"] is None
    assert get("/run?run=tabnet").json["verdict"] is None


def test_numbers_of_the_row_come_from_the_record(get):
    (row,) = [r for r in get("/runs").json["runs"] if r["name"] == "bs512"]

    assert (row["step"], row["planned_steps"]) == (1_234, 10_000)
    assert (row["epoch"], row["planned_epochs"]) == (2, 10)
    assert row["peak_memory_bytes"] == 15 * 2.0**30
    assert row["memory_limit_bytes"] == 16 * 2.0**30
    assert row["ran_for_seconds"] == 2_520.0


def test_nan_is_the_string_nan(get):
    lane = get("/lane?run=diverged&lane=loss").json

    assert lane["series"][0]["mean"] == ["NaN", "NaN"]
    assert get("/run?run=diverged").json["epochs"][0]["metrics"] == {"loss": "NaN"}


class TestErrors:
    @pytest.mark.parametrize(
        ("url", "status", "words"),
        [
            ("/run?run=none", 404, 'There is no run called "none".'),
            ("/run", 400, 'The parameter "run" is missing.'),
            ("/lane?run=bs512&lane=x", 404, 'no data for a lane called "x"'),
            ("/lane?run=bs512&lane=loss&from=a", 400, 'from="a" is not a number'),
            ("/lane?run=bs512&lane=loss&to=nan", 400, 'to="nan" is not a number'),
            ("/lane?run=bs512&lane=loss&buckets=0", 400, "expected 1 to 2000"),
            ("/lane?run=bs512&lane=loss&axis=x", 400, 'expected "time" or "step"'),
            ("/compare", 400, 'The parameter "a" is missing.'),
            ("/compare?a=none", 404, 'There is no run called "none".'),
            ("/compare?a=bs512&b=none", 404, 'There is no run called "none".'),
            ("/compare?a=bs512&align=x", 400, 'align="x" is not known'),
        ],
    )
    def test_a_wrong_request_is_told_what_is_wrong(
        self, get, url: str, status: int, words: str
    ):
        response = get(url)

        assert response.status_code == status
        assert words in response.json["error"]["message"]

    def test_only_reading_is_answered(self, get):
        response = get("/runs", method="POST")

        assert response.status_code == 405
        assert response.json["error"]["code"] == "method_not_allowed"

    def test_a_fault_of_ours_keeps_its_details_in_the_log(
        self, get, view: View, monkeypatch, caplog
    ):
        def fails() -> None:
            raise RuntimeError("secret path")

        monkeypatch.setattr(view, "runs", fails)
        response = get("/runs")

        assert response.status_code == 500
        assert "secret" not in response.get_data(as_text=True)
        assert "secret path" in caplog.text

    def test_a_missing_page_says_how_to_get_it(self, view: View, tmp_path: Path):
        routes = Routes(view, Refresher(lambda: None, 0), static=tmp_path)

        response = Client(routes.apps()["/index.js"]).get("/index.js")

        assert response.status_code == 404
        assert "Install tensorboard-plugin-health again" in response.text


class TestCaching:
    URLS = (
        "/runs",
        "/run?run=bs512",
        "/lane?run=bs512&lane=loss",
        "/compare?a=bs512",
        "/compare?a=bs512&b=diverged",
        "/index.js",
    )

    @pytest.mark.parametrize("url", URLS)
    def test_an_unchanged_answer_costs_nothing(self, get, url: str, monkeypatch):
        etag = get(url).headers["ETag"]
        for name in ("run_list", "run_story", "lane_points"):
            monkeypatch.delattr(answers, name)
        monkeypatch.delattr(comparison, "compare_runs")

        response = get(url, **{"If-None-Match": etag})

        assert response.status_code == 304
        assert response.data == b""

    def test_new_data_changes_the_tag(self, get, view: View, write_attempt):
        etag = get("/runs").headers["ETag"]
        write_attempt("another")
        view.refresh()

        response = get("/runs", **{"If-None-Match": etag})

        assert response.status_code == 200

    def test_two_windows_of_a_lane_do_not_share_a_tag(self, get):
        first = get("/lane?run=bs512&lane=loss&from=101")
        second = get("/lane?run=bs512&lane=loss&from=102")

        assert first.headers["ETag"] != second.headers["ETag"]

    def test_answers_are_compressed_when_asked_for(self, get):
        response = get("/runs", **{"Accept-Encoding": "gzip"})

        assert response.headers["Content-Encoding"] == "gzip"

    def test_a_head_has_no_body(self, get):
        response = get("/runs", method="HEAD")

        assert response.status_code == 200
        assert response.data == b""
