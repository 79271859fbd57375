"""A long wait is told, a short one is not."""

import io

import pytest
from rich.console import Console

from tb_health_plugin.cli import waiting as module
from tb_health_plugin.cli.waiting import waiting


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    out = io.StringIO()
    made = Console(file=out, force_terminal=True)
    monkeypatch.setattr(module, "Console", lambda **_: made)
    return out


def test_a_short_wait_needs_no_word(terminal: io.StringIO):
    with waiting("Reading logs ..."):
        pass

    assert "Reading logs" not in terminal.getvalue()


def test_a_long_one_is_told_and_taken_back(terminal: io.StringIO, monkeypatch):
    monkeypatch.setattr(module, "MOMENT_SECONDS", 0.0)
    with waiting("Reading logs ..."):
        while "Reading logs" not in terminal.getvalue():
            pass

    shows_the_cursor = "\x1b[?25h"
    assert shows_the_cursor in terminal.getvalue()


def test_it_says_how_far_it_is(terminal: io.StringIO, monkeypatch):
    monkeypatch.setattr(module, "MOMENT_SECONDS", 0.0)
    with waiting("Reading logs") as tick:
        tick(3, 7)
        while "3/7" not in terminal.getvalue():
            pass


def test_what_goes_wrong_meanwhile_is_not_hidden(terminal: io.StringIO):
    with pytest.raises(LookupError), waiting("Reading logs ..."):
        raise LookupError
