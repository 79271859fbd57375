"""Every route as `http_api.md` describes it, asked for anything by a machine."""

import functools
import json
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from werkzeug.test import Client

from tb_health_plugin.reading.library import Library
from tb_health_plugin.reading.log_directory import Root
from tb_health_plugin.server.refresher import Refresher
from tb_health_plugin.server.routes import Routes
from tb_health_plugin.server.view import View
from tests import runs
from tests.server import http_api_examples

RUNS = ("nan_op", "healthy")
HEADING = re.compile(r"^## `GET (/[\w.]+)(?:\?([^`]*))?`$", re.MULTILINE)
# Names of what is meant, where the description has no list to choose from.
KNOWN = {"NAME": RUNS, "ID": ("host_memory", "loss", "throughput"), "X": (), "N": ()}


def described() -> dict[str, dict[str, tuple[str, ...]]]:
    """By route its parameters, and by those the values that are described."""
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for route, query in HEADING.findall(http_api_examples.DOCUMENT.read_text()):
        pairs = re.findall(r"(\w+)=([\w|]+)", query)
        found[route] = {n: KNOWN.get(v, tuple(v.split("|"))) for n, v in pairs}
    return found


DESCRIBED = described()
NUMBERS = st.floats().map(str) | st.integers().map(str)


@functools.cache
def _folder() -> "tempfile.TemporaryDirectory[str]":
    """Kept for the life of the process."""
    return tempfile.TemporaryDirectory()


@functools.cache
def apps() -> dict[str, Any]:
    logs = Path(_folder().name)
    for name in RUNS:
        shutil.copytree(runs.HERE / name, logs / name)
    view = View(Library([Root(logs)]), clock=lambda: 2e9)
    view.refresh()
    refresher = Refresher(lambda: None, 0)
    refresher.start()
    return dict(Routes(view, refresher).apps())


@st.composite
def queries(draw: Any, route: str) -> str:
    """Some of the parameters, most of them as described."""
    pairs = []
    for name, known in DESCRIBED[route].items():
        described = st.sampled_from(known) if known else NUMBERS
        value = draw(st.none() | described | described | NUMBERS | st.text(max_size=30))
        if value is not None:
            pairs.append(f"{name}={quote(value.encode('utf-8', 'replace'))}")
    return "&".join(pairs)


def test_every_route_is_among_those_described():
    assert set(DESCRIBED) == set(apps())


@pytest.mark.parametrize("route", sorted(DESCRIBED))
@settings(max_examples=40)
@given(data=st.data())
def test_any_question_gets_the_described_answer(route: str, data: Any):
    query = data.draw(queries(route))

    answer = Client(apps()[route]).get(f"{route}?{query}")

    assert answer.status_code in (200, 400, 404)
    if answer.mimetype == "application/json":
        told = json.loads(answer.data, parse_constant=pytest.fail)
        if answer.status_code == 200:
            assert set(told) == fields_of(route)
        else:
            assert set(told) == {"error"}
            assert set(told["error"]) == {"code", "message"}


@functools.cache
def fields_of(route: str) -> set[str]:
    """The fields of the example in the description."""
    page = http_api_examples.DOCUMENT.read_text()
    pattern = rf"^## `GET {re.escape(route)}[?`].*?```json\n(.*?)```"
    example = re.search(pattern, page, re.DOTALL | re.MULTILINE)
    assert example is not None
    return set(json.loads(example[1]))
