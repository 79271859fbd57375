"""Python's objects, and who holds many of a kind."""

import gc
import sys
import threading
from collections import deque

import pytest

from tb_health_plugin.recording.fitting import live_objects
from tb_health_plugin.recording.fitting.live_objects import LiveObjects, holder_of


class Thing:
    """Stands for a tensor."""


class Keeper:
    def __init__(self, kept) -> None:
        self.kept = kept


KEPT_HERE: list[Thing] = []


def told() -> str | None:
    return holder_of(gc.get_objects(), Thing, at_least=100)


@pytest.mark.parametrize("kind", [list, deque, set])
def test_an_attribute_is_named_with_its_class(kind):
    keeper = Keeper(kind(Thing() for _ in range(200)))

    assert told() == f"a {kind.__name__} of 200 tensors, called Keeper.kept"
    assert len(keeper.kept) == 200


def test_a_dict_is_known_by_its_values():
    keeper = Keeper({number: Thing() for number in range(200)})

    assert told() == "a dict of 200 tensors, called Keeper.kept"
    assert len(keeper.kept) == 200


def test_a_variable_of_a_module_is_named():
    KEPT_HERE.extend(Thing() for _ in range(300))
    try:
        assert told() == "a list of 300 tensors, called KEPT_HERE"
    finally:
        KEPT_HERE.clear()


def test_one_that_nobody_else_knows_has_no_name():
    kept = [Thing() for _ in range(200)]

    assert told() == "a list of 200 tensors"
    del kept


def test_other_things_and_few_things_are_passed_over():
    few, others = [Thing() for _ in range(99)], [Keeper(None) for _ in range(500)]

    assert told() is None
    del few, others


class TestHowOften:
    def test_not_before_its_time(self, monkeypatch):
        monkeypatch.setattr(live_objects, "AT_MOST_SECONDS", 1e9)
        counts = LiveObjects()

        assert counts.count(0.0).python_objects > 1000
        assert counts.count(1.0) is None
        # A slow count waits until it is a thousandth of the time.
        assert counts.count(1_000_000.0) is not None

    def test_never_again_if_it_takes_long(self, monkeypatch):
        monkeypatch.setattr(live_objects, "AT_MOST_SECONDS", 0.0)
        counts = LiveObjects()

        assert counts.count(0.0) is not None
        assert counts.count(1e12) is None


def test_a_thread_that_fills_a_tuple_is_not_disturbed(quick_switches):
    """Python cannot resize a tuple that somebody else holds."""
    failed: list[SystemError] = []
    stop = threading.Event()

    def fill() -> None:
        while not stop.is_set():
            try:
                tuple(n for n in range(300))
            except SystemError as error:
                failed.append(error)

    thread = threading.Thread(target=fill)
    thread.start()
    for _ in range(60):
        LiveObjects()._count()
        assert {type(one) for one in live_objects._containers()} <= {
            list,
            dict,
            set,
            deque,
        }
    stop.set()
    thread.join()

    assert failed == []


@pytest.fixture
def quick_switches():
    """Threads take turns as often as they can."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)
