"""The routes as any HTTP client sees them, through TensorBoard's own server."""

import gzip
import http.client
import json
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from demo.tensorboard_server import TensorBoardServer, wait_until
from tb_health_plugin.events import facts
from tb_health_plugin.events.attempt import FileName, new_attempt_directory
from tb_health_plugin.events.event_file import EventFile
from tb_health_plugin.events.sample_file import SampleFile
from tests.end_to_end.light_tensorboard import tensorboard

pytestmark = pytest.mark.live

HEALTH = "/data/plugin/health"
LOSSES = (1.0, math.nan, math.inf, -math.inf)

Ask = Callable[..., tuple[int, Mapping[str, str], bytes]]


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("http")


@pytest.fixture(scope="module")
def samples(logdir: Path) -> Iterator[SampleFile]:
    """The samples of a run called "run", as a file that is still open."""
    directory = write_records(logdir / "run")
    file = SampleFile(
        directory / str(FileName("samples", 0)),
        ("step", "loss"),
        period_seconds=1.0,
        now=1.0,
    )
    for step, loss in enumerate(LOSSES):
        file.append(1.0 + step, (step, loss))
    yield file
    file.close()


@pytest.fixture(scope="module")
def tb(logdir: Path, samples: SampleFile) -> Iterator[TensorBoardServer]:
    with tensorboard(["--logdir", str(logdir), "--reload_interval=1"]) as server:
        wait_until(lambda: server.json(f"{HEALTH}/runs")["runs"])
        yield server


def write_records(run: Path) -> Path:
    directory: Path = new_attempt_directory(run)
    records = EventFile(directory / str(FileName("records", 0)), now=1.0)
    records.append_fact(facts.RunStarted(wall_time=1.0, host="elsewhere"))
    records.close()
    return directory


@pytest.fixture
def ask(tb: TensorBoardServer) -> Ask:
    """Asks a route; answers with status, headers and body as they came."""

    def send(
        path: str, method: str = "GET", **headers: str
    ) -> tuple[int, Mapping[str, str], bytes]:
        connection = http.client.HTTPConnection(urlsplit(tb.url).netloc, timeout=30)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            connection.request(method, f"{HEALTH}{path}", headers=named)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    return send


@pytest.mark.parametrize("path", ["/runs", "/run?run=run", "/index.js"])
def test_an_answer_is_compressed_for_those_who_accept_it(ask: Ask, path: str) -> None:
    _, _, plain = ask(path)
    _, headers, packed = ask(path, Accept_Encoding="gzip")

    assert headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed) == plain


def test_an_answer_is_plain_for_all_others(ask: Ask) -> None:
    _, headers, body = ask("/runs")

    assert "Content-Encoding" not in headers
    assert headers["Content-Type"].startswith("application/json")
    assert json.loads(body)["runs"][0]["name"] == "run"


@pytest.mark.parametrize(
    "path", ["/runs", "/run?run=run", "/lane?run=run&lane=loss", "/index.js"]
)
def test_an_unchanged_answer_is_not_sent_again(ask: Ask, path: str) -> None:
    status, headers, _ = ask(path)
    again, _, body = ask(path, If_None_Match=headers["ETag"])

    assert (status, again, body) == (200, 304, b"")


@pytest.mark.parametrize("path", ["/runs", "/run?run=run", "/lane?run=run&lane=loss"])
def test_an_answer_is_sent_again_after_the_run_grew(
    ask: Ask, samples: SampleFile, path: str
) -> None:
    _, headers, before = ask(path)

    step = json.loads(ask("/runs")[2])["runs"][0]["step"] + 1
    samples.append(1.0 + step, (step, 0.5))

    wait_until(lambda: ask(path, If_None_Match=headers["ETag"])[0] == 200)
    assert ask(path)[2] != before


def test_numbers_that_are_none_arrive_as_words(ask: Ask) -> None:
    _, _, body = ask("/lane?run=run&lane=loss&axis=step&from=0&to=3")

    (loss,) = json.loads(body)["series"]
    assert loss["mean"] == [1.0, "NaN", "Infinity", "-Infinity"]


@pytest.mark.parametrize(
    ("path", "status", "code", "words"),
    [
        ("/run?run=other", 404, "not_found", 'no run called "other"'),
        ("/lane?run=other&lane=loss", 404, "not_found", 'no run called "other"'),
        ("/lane?run=run&lane=gpu", 404, "not_found", 'a lane called "gpu"'),
        ("/run", 400, "bad_request", '"run" is missing'),
        ("/lane?run=run", 400, "bad_request", '"lane" is missing'),
        ("/lane?run=run&lane=loss&from=x", 400, "bad_request", 'from="x"'),
        ("/lane?run=run&lane=loss&to=nan", 400, "bad_request", 'to="nan"'),
        ("/lane?run=run&lane=loss&buckets=0", 400, "bad_request", "buckets=0"),
        ("/lane?run=run&lane=loss&axis=z", 400, "bad_request", 'axis="z"'),
    ],
)
def test_a_question_that_cannot_be_answered_says_why(
    ask: Ask, path: str, status: int, code: str, words: str
) -> None:
    answered, headers, body = ask(path)

    error: dict[str, Any] = json.loads(body)["error"]
    assert headers["Content-Type"].startswith("application/json")
    assert (answered, error["code"]) == (status, code)
    assert words in error["message"]


@pytest.mark.parametrize("path", ["/runs", "/run?run=run", "/index.js"])
def test_a_post_is_refused(ask: Ask, path: str) -> None:
    status, _, body = ask(path, method="POST")

    assert status == 405
    assert json.loads(body)["error"]["code"] == "method_not_allowed"


@pytest.mark.parametrize("path", ["/runs", "/run?run=run", "/index.js"])
def test_a_head_is_the_answer_without_its_body(ask: Ask, path: str) -> None:
    _, expected, _ = ask(path)
    status, headers, body = ask(path, method="HEAD")

    assert (status, body) == (200, b"")
    assert headers["ETag"] == expected["ETag"]
    assert headers["Content-Type"] == expected["Content-Type"]


def test_a_run_name_may_hold_any_character(ask: Ask, logdir: Path) -> None:
    write_records(logdir / "größe & <b>")

    path = "/run?run=gr%C3%B6%C3%9Fe%20%26%20%3Cb%3E"
    wait_until(lambda: ask(path)[0] == 200)

    assert json.loads(ask(path)[2])["run"]["name"] == "größe & <b>"
