"""Calls that are slow, fail, or never come back."""

import threading

import pytest

from demo.tensorboard_server import wait_until
from tb_health_plugin.collectors.patience import Errand, Patience


def test_an_answer_comes_back():
    assert Patience("it").ask(lambda: 7, 10.0) == 7


def test_an_error_comes_back():
    with pytest.raises(KeyError):
        Patience("it").ask(lambda: {}["a"], 10.0)


def test_what_hangs_is_left_alone_and_not_asked_again():
    patience, end = Patience("the driver"), threading.Event()
    asked = []

    with pytest.raises(TimeoutError, match="the driver has not answered"):
        patience.ask(end.wait, 0.01)
    with pytest.raises(TimeoutError):
        patience.ask(lambda: asked.append(1), 10.0)

    assert asked == []
    end.set()
    assert wait_until(lambda: answered(patience)) == 7


def answered(patience: Patience) -> int | None:
    try:
        return patience.ask(lambda: 7, 10.0)
    except TimeoutError:
        return None


def test_nobody_waits_for_an_errand():
    errand: Errand[int] = Errand()
    end = threading.Event()
    errand.begin(lambda: 7 if end.wait(60) else 0)

    assert errand.fetch() is None
    end.set()
    assert wait_until(errand.fetch) == 7
    assert errand.fetch() is None


def test_one_errand_at_a_time():
    errand: Errand[int] = Errand()
    end = threading.Event()
    errand.begin(lambda: 7 if end.wait(60) else 0)
    errand.begin(lambda: 8)
    end.set()

    assert wait_until(errand.fetch) == 7
    assert errand.fetch() is None
