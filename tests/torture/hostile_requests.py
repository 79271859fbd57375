"""Asks the HTTP routes for what no page of ours would ever ask."""

import functools
import json
import random
import shutil
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import quote

from werkzeug.test import Client

from tb_health_plugin.reading.library import Library
from tb_health_plugin.reading.log_directory import Root
from tb_health_plugin.server.refresher import Refresher
from tb_health_plugin.server.routes import Routes
from tb_health_plugin.server.view import View
from tests import runs
from tests.torture.chamber import Broken, Chamber

REQUESTS_PER_ROUND = 50
# More than any view needs; an answer must not grow with what a client sends.
MOST_BYTES = 8 << 20
# A server that answers well says one of these to a client that behaves badly.
STATUSES = {200, 304, 400, 404, 405}
RUNS = ("nan_op", "healthy", "host_oom", "input_hang")
# As a user could name a folder, up to what a file system takes.
ODD_NAMES = ("<img src=x onerror=alert(1)>", "a b%20c&d=e#f", "\u202egnp.exe", "ü" * 80)
METHODS = ("GET",) * 12 + ("HEAD", "POST", "PUT", "DELETE", "OPTIONS")


@functools.cache
def _folder() -> "tempfile.TemporaryDirectory[str]":
    """Kept for the life of the process."""
    return tempfile.TemporaryDirectory()


@functools.cache
def apps() -> dict[str, Any]:
    logs = Path(_folder().name)
    for name in (*RUNS, *ODD_NAMES):
        source = name if name in RUNS else "lr_too_high"
        shutil.copytree(runs.HERE / source, logs / name.replace("/", "_"))
    view = View(Library([Root(logs)]))
    view.refresh()
    refresher = Refresher(lambda: None, 0)
    refresher.start()
    return dict(Routes(view, refresher).apps())


def _text(rng: random.Random) -> str:
    return rng.choice(
        (
            *RUNS,
            *ODD_NAMES,
            "",
            ".",
            "..",
            "../../../../etc/passwd",
            "/etc/passwd",
            "nan_op/../healthy",
            "nan_op\0",
            "\r\nSet-Cookie: a=b",
            "'; DROP TABLE runs; --",
            "A" * rng.choice((10, 5_000, 60_000)),
            "".join(chr(rng.randrange(1, 0xD000)) for _ in range(20)),
        )
    )


def _number(rng: random.Random) -> str:
    odd = ("nan", "inf", "-inf", "1e308", "-1e308", "1e-320", "0", "-1", "", "x", "１")
    plain = (str(rng.randrange(-10, 10**6)), str(rng.uniform(-1e12, 1e12)))
    return rng.choice((*odd, *plain, "9" * 400))


def _url(rng: random.Random, path: str) -> str:
    values = {
        "run": _text,
        "a": _text,
        "b": _text,
        "lane": lambda rng: rng.choice(("host_memory", "loss", "gpu", _text(rng))),
        "axis": lambda rng: rng.choice(("time", "step", "clock", _text(rng))),
        "align": lambda rng: rng.choice(("step", "epoch", "time", "end", _text(rng))),
        "from": _number,
        "to": _number,
        "buckets": _number,
        _text(rng)[:30]: _text,
    }
    chosen = rng.sample(sorted(values), rng.randrange(len(values)))
    chosen += rng.choices(chosen, k=rng.randrange(2)) if chosen else []
    query = "&".join(f"{quote(name)}={quote(values[name](rng))}" for name in chosen)
    return f"{path}?{query}"


def torture(rng: random.Random, counts: Counter[str]) -> None:
    for _ in range(REQUESTS_PER_ROUND):
        path = rng.choice(sorted(apps()))
        url, method = _url(rng, path), rng.choice(METHODS)
        answer = Client(apps()[path]).open(url, method=method)
        counts["requests"] += 1
        counts[f"status {answer.status_code}"] += 1
        _check(answer, f"{method} {url[:300]}")


def _check(answer: Any, asked: str) -> None:
    if answer.status_code not in STATUSES:
        raise Broken(f"{asked} was answered by {answer.status}")
    if len(answer.data) > MOST_BYTES:
        raise Broken(f"{asked} was answered by {len(answer.data):,} bytes")
    if "Set-Cookie" in answer.headers:
        raise Broken(f"{asked} could set a header")
    if b"root:x:" in answer.data:
        raise Broken(f"{asked} got a file from outside of the log directory")
    if answer.mimetype == "application/json" and answer.data:
        json.loads(answer.data, parse_constant=_no_constant)


def _no_constant(name: str) -> None:
    raise Broken(f"{name} is no JSON")


CHAMBER = Chamber(
    name="requests",
    promise="every request gets an answer, bounded, and from below the log directory",
    round=torture,
)
