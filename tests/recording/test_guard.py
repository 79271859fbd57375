"""A fault of ours ends in the guard."""

import logging

import pytest

from tb_health_plugin.recording.guard import Guard


def test_a_fault_is_caught_said_once_and_recorded(caplog):
    told = []
    guard = Guard(lambda *what: told.append(what))

    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            with guard.protect("steps"):
                raise OSError("gone")

    assert told == [("steps", "OSError: gone")]
    assert len(caplog.records) == 1
    assert guard.is_off("steps")
    assert not guard.is_off("gradients")


def test_ctrl_c_is_not_a_fault_of_ours():
    guard = Guard(lambda *_: None)

    with pytest.raises(KeyboardInterrupt), guard.protect("steps"):
        raise KeyboardInterrupt


def test_a_fault_while_telling_the_fault_ends_here_too():
    def fails(what: str, why: str) -> None:
        raise RuntimeError("again")

    with Guard(fails).protect("steps"):
        raise OSError("gone")
