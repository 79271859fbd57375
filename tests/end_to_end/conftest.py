"""What the end-to-end tests share: trainings, TensorBoards and one Chromium."""

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from demo.tensorboard_server import TensorBoardServer, tensorboard, wait_until

PROGRAMS = Path(__file__).with_name("programs")
# Far longer than anything takes, also on a busy machine.
MOST_MILLISECONDS = 120_000

# Keeps TensorFlow's start-up lines out of the way; its errors still show.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")


class Page:
    """A page in Chromium, and everything it complained about.

    Attributes:
        complaints: Console errors, uncaught exceptions and CSP reports, in words.
        requests: The address of every request, those of its frames included.
    """

    def __init__(self, page: Any, url: str) -> None:
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self._page = page
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        page.add_init_script(
            "addEventListener('securitypolicyviolation', (event) =>"
            " console.error('CSP report', event.violatedDirective, event.blockedURI))"
        )
        page.goto(url)

    @property
    def title(self) -> str:
        return str(self._page.title())

    @property
    def health(self) -> Any:
        """The inside of the Health tab."""
        return self._page.frame_locator("iframe").first

    def locator(self, selector: str, **options: Any) -> Any:
        return self._page.locator(selector, **options)

    def open_tab(self, name: str) -> None:
        exactly = re.compile(f"^{name}$", re.IGNORECASE)
        self._page.get_by_role("tab", name=exactly).click()

    def settle(self) -> None:
        """Waits until nothing is loaded any more."""
        self._page.wait_for_load_state("networkidle")

    def requests_beyond(self, origin: str) -> list[str]:
        """Requests that went anywhere but to `origin`."""
        inside = (f"{origin}/", "data:", "blob:")
        return [url for url in self.requests if not url.startswith(inside)]

    def assert_quiet(self, origin: str) -> None:
        """Nothing was complained of, and nobody but `origin` was asked."""
        self.settle()
        assert self.complaints == []
        assert self.requests_beyond(origin) == []

    def address_with(self, part: str) -> str:
        """The address in the bar, as soon as it holds `part`."""

        def found() -> str:
            address = str(self._page.evaluate("() => location.href"))
            return address if part in address else ""

        return str(wait_until(found))

    @property
    def pixels_beyond(self) -> int:
        """How far the tab sticks out of its frame."""
        beyond = "root => root.scrollWidth - root.clientWidth"
        return int(self.health.locator("html").evaluate(beyond))

    def _console(self, message: Any) -> None:
        if message.type == "error":
            self.complaints.append(f"{message.text} ({message.location['url']})")


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    # Where only the others run, there need not be what drives a browser.
    from demo.browser import browser

    with browser() as chromium:
        yield chromium


@pytest.fixture
def open_page(chromium: Any) -> Iterator[Callable[[str], Page]]:
    """Opens an address in a browser that remembers nothing."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(MOST_MILLISECONDS)
    yield lambda url: Page(context.new_page(), url)
    context.close()


def run_program(name: str, *arguments: object) -> int:
    """Runs one of `programs/` to its end and returns its exit status."""
    return subprocess.run(
        [sys.executable, str(PROGRAMS / name), *map(str, arguments)],
        check=False,
        stdout=subprocess.DEVNULL,
    ).returncode


@pytest.fixture
def start_program() -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    """Starts one of `programs/`; it reads from stdin and is gone after the test."""
    with contextlib.ExitStack() as stack:

        def start(name: str, *arguments: object) -> "subprocess.Popen[str]":
            process = subprocess.Popen(
                [sys.executable, str(PROGRAMS / name), *map(str, arguments)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            return process

        yield start


@pytest.fixture(scope="session")
def recorded_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log directory with a training that finished and one that was killed."""
    logdir = tmp_path_factory.mktemp("recorded")
    with ThreadPoolExecutor() as pool:
        finished = pool.submit(run_program, "small_training.py", logdir / "finished")
        killed = pool.submit(
            run_program, "small_training.py", logdir / "killed", "--killed-at-step=80"
        )
    assert (finished.result(), killed.result()) == (0, -signal.SIGKILL)
    return logdir


@pytest.fixture(
    scope="session",
    params=[(), ("--load_fast=false",)],
    ids=["fast_loader", "slow_loader"],
)
def loader(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """The flags for each of TensorBoard's two loaders."""
    flags: tuple[str, ...] = request.param
    return flags


@pytest.fixture(scope="session")
def server(recorded_runs: Path, loader: tuple[str, ...]) -> Iterator[TensorBoardServer]:
    """TensorBoard on `recorded_runs`."""
    arguments = ["--logdir", str(recorded_runs), "--reload_interval=1", *loader]
    with tensorboard(arguments) as running:
        yield running
