"""A report is one file with everything in it, and nothing in it can break out."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tb_health_plugin.events import facts
from tb_health_plugin.server import report_page
from tb_health_plugin.server.errors import NotFound, RequestError
from tests.server import http_api_examples

HOSTILE = "</script><img src=x onerror=alert(1)><!--\u2028\u202e\x00&amp;"


@pytest.fixture
def both(logs: Path) -> Path:
    http_api_examples.write_logs(logs)
    http_api_examples.write_twin(logs)
    return logs


def content(page: str) -> Any:
    """What the page would read of itself."""
    found = re.search(r'id="training-health-report">(.*?)</script>', page, re.S)
    assert found
    return json.loads(found[1])


def test_the_answers_are_those_of_the_routes(both: Path):
    page = report_page.report_html(both, ["bs512"])

    answers = content(page)["answers"]
    get = http_api_examples.client(both)
    assert answers["run\nbs512\n\n\n\n\n"] == get("/run?run=bs512").json
    lane = get("/lane?run=bs512&lane=loss&buckets=2000").json
    assert (
        answers["lane\nbs512\nloss\n\n\n\n"]["series"][0]["mean"]
        == (lane["series"][0]["mean"])
    )
    assert [row["name"] for row in answers["runs\n\n\n\n\n\n"]["runs"]] == ["bs512"]


def test_several_runs_are_compared_by_every_alignment(both: Path):
    answers = content(report_page.report_html(both, ["bs512", "bs128"]))["answers"]

    for align in ("step", "time", "epoch", "end"):
        assert answers[f"compare\n\n\nbs512\nbs128\n{align}\n"]["align"] == align


def test_the_map_of_workers_is_in_it(logs: Path):
    http_api_examples.write_workers(logs)

    answers = content(report_page.report_html(logs, ["two"]))["answers"]

    get = http_api_examples.client(logs)
    for quantity in ("step_seconds", "data_wait", "memory"):
        told = answers[f"workers\ntwo\n\n\n\n\n{quantity}"]
        assert told == get(f"/workers?run=two&quantity={quantity}").json


def test_nothing_recorded_can_end_the_script(logs: Path, write_attempt):
    write_attempt(
        "hostile",
        told=[
            facts.RunStarted(wall_time=1.0, pid=1, settings={HOSTILE: HOSTILE}),
            facts.RunEnded(
                wall_time=2.0, reason="exception", exception="E", message=HOSTILE
            ),
        ],
    )
    page = report_page.report_html(logs, ["hostile"])

    assert page.count("</script") == 2
    assert page.count("<script") == 2
    assert "<img" not in page
    before_code = page.split('<script type="module">')[0]
    assert before_code.isascii()
    settings = content(page)["answers"]["run\nhostile\n\n\n\n\n"]["settings"]
    assert settings == {HOSTILE: HOSTILE}


def test_a_hostile_name_is_text_in_the_title(logs: Path, write_attempt):
    write_attempt("<b>bold&", told=[facts.RunStarted(wall_time=1.0, pid=1)])

    page = report_page.report_html(logs, ["<b>bold&"])

    assert "<title>Training Health: &lt;b&gt;bold&amp;</title>" in page


def test_only_its_own_script_may_run(both: Path):
    page = report_page.report_html(both, ["bs512"])

    policy = re.search(r'Security-Policy" content="([^"]+)"', page)
    assert policy
    assert policy[1].startswith("default-src 'none'; script-src 'sha256-")
    assert "http:" not in policy[1]


def test_what_is_left_out_is_not_in_the_file(both: Path):
    page = report_page.report_html(both, ["bs512"], leave_out=["output", "settings"])

    assert "Traceback" not in page.split('<script type="module">')[0]
    assert "node7" not in page
    assert "2.21.0" not in page


def test_a_name_of_a_file_has_plain_characters():
    assert re.fullmatch(
        r"health_a_b_c_\d{8}-\d{4}\.html", report_page.file_name(["a/b c"], 0.0)
    )
    assert report_page.file_name(["../.."], 0.0).startswith("health_run_")


@pytest.mark.parametrize(
    ("runs", "leave_out", "error"),
    [
        (["none"], [], NotFound),
        ([], [], RequestError),
        (["bs512"], ["x"], RequestError),
        ([str(number) for number in range(9)], [], RequestError),
    ],
)
def test_what_cannot_be_told_is_refused(
    both: Path, runs: list[str], leave_out: list[str], error: type[Exception]
):
    with pytest.raises(error):
        report_page.report_html(both, runs, leave_out=leave_out)


def test_the_route_hands_it_out_to_be_saved(both: Path):
    response = http_api_examples.client(both)("/report?run=bs512&without=output")

    assert response.status_code == 200
    assert "attachment" in response.headers["Content-Disposition"]
    assert content(response.text)["runs"] == ["bs512"]
