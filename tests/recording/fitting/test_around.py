"""Something of ours around a method, and nothing of it afterwards."""

import copy
import inspect
import itertools
import pickle
import warnings

import pytest

from tb_health_plugin.recording.fitting.around import Around, Unseen


class Thing:
    def double(self, number: int) -> int:
        return 2 * number


class Counting(Around):
    calls = 0

    def call(self, *args, **kwargs):
        self.calls += 1
        return super().call(*args, **kwargs)


def test_the_method_does_what_it_did():
    thing = Thing()
    around = Counting(thing, "double")
    around.put()

    assert thing.double(4) == 8
    assert around.calls == 1
    assert inspect.signature(thing.double) == inspect.signature(Thing().double)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_several_go_in_any_order(order):
    thing = Thing()
    arounds = []
    for _ in range(3):
        arounds.append(Counting(thing, "double"))
        arounds[-1].put()

    for done, index in enumerate(order, 1):
        arounds[index].remove()
        before = [around.calls for around in arounds]
        assert thing.double(1) == 2
        assert sum(a.calls for a in arounds) - sum(before) == 3 - done

    assert vars(thing) == {}


def test_a_function_of_the_object_itself_comes_back():
    thing = Thing()
    own = thing.double = lambda number: 3 * number
    around = Counting(thing, "double")
    around.put()
    assert thing.double(2) == 6

    around.remove()

    assert thing.double is own


def test_wrapped_by_somebody_else_it_only_passes_on():
    thing = Thing()
    around = Counting(thing, "double")
    around.put()
    inner = thing.double
    thing.double = lambda number: inner(number) + 1

    around.remove()

    assert thing.double(2) == 5
    assert around.calls == 0


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda thing: pickle.loads(pickle.dumps(thing))]
)
def test_a_copy_of_the_object_has_its_plain_method(copied):
    thing = Thing()
    around = Counting(thing, "double")
    around.put()

    other = copied(thing)

    assert other.double(3) == 6
    assert around.calls == 0


def test_a_warning_names_the_same_line_as_without_us():
    class Speaker:
        def warn(self):
            warnings.warn("mind", stacklevel=2)

    class Passing(Unseen):
        def call(self, *args, **kwargs):
            return self._inner(*args, **kwargs)

    thing = Speaker()
    seen = []
    for around in (None, Passing(thing, "warn")):
        if around is not None:
            around.put()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            thing.warn()
        seen += [(one.filename, one.lineno) for one in caught]

    assert seen[0] == seen[1]
    assert seen[0][0] == __file__
