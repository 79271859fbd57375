"""Finds a Chromium to look at pages with, and opens it."""

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import Error, sync_playwright

_NAMES = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
)
_MAC = Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")

# As root, Chromium needs --no-sandbox; the rest keeps it from calling home.
_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
INSTALL_HINT = (
    "No Chromium was found: install Chromium or Google Chrome, or run "
    "`.venv/bin/playwright install chromium`."
)


class NoBrowser(Exception):
    """There is no browser, and none may be installed. The message says what to do."""


def installed_browser() -> str | None:
    """The path of a Chromium or Chrome on this machine."""
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    return found or (str(_MAC) if _MAC.exists() else None)


@contextlib.contextmanager
def browser() -> Iterator[Any]:
    """A headless Chromium: the installed one, Playwright's, or Debian's.

    Raises:
        NoBrowser: None of them can be had.
    """
    with sync_playwright() as playwright:
        instance = _launch(playwright, installed_browser())
        if instance is None and _install_debian_package():
            instance = _launch(playwright, installed_browser())
        if instance is None:
            raise NoBrowser(INSTALL_HINT)
        try:
            yield instance
        finally:
            instance.close()


def _launch(playwright: Any, path: str | None) -> Any:
    """A running browser; without a path Playwright's own. None if there is none."""
    try:
        return playwright.chromium.launch(executable_path=path, args=list(_FLAGS))
    except Error as error:
        if path is None and "Executable doesn't exist" in str(error):
            return None
        raise


def _install_debian_package() -> bool:
    if os.name != "posix" or os.geteuid() != 0 or not shutil.which("apt-get"):
        return False
    sys.stderr.write("Installing Debian's chromium for the browser tests ...\n")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run(["apt-get", "update", "-qq"], check=False, **quiet)
    install = ["apt-get", "install", "-y", "-qq", "chromium"]
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    return subprocess.run(install, check=False, env=env, **quiet).returncode == 0
