"""One failing source neither stops the others nor is asked without end."""

from collections.abc import Mapping
from pathlib import Path

from tb_health_plugin.collectors.schedule import LONGEST_REST_SECONDS, Schedule


class Source:
    def __init__(self, what: str, *, broken: bool = False) -> None:
        self.what = what
        self.columns = (what,)
        self.broken = broken
        self.asked = 0

    def collect(self) -> Mapping[str, float]:
        self.asked += 1
        if self.broken:
            raise OSError("gone")
        return {self.what: float(self.asked)}


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def schedule(*sources: Source) -> tuple[Schedule, Clock, list[tuple[str, str, bool]]]:
    clock = Clock()
    told: list[tuple[str, str, bool]] = []
    made = Schedule(sources, changed=lambda *what: told.append(what), clock=clock)
    return made, clock, told


def test_all_columns_in_one_sample():
    made, _, _ = schedule(Source("a"), Source("b"))

    assert made.columns == ("a", "b")
    assert made.sample() == {"a": 1.0, "b": 1.0}


def test_a_failing_source_leaves_the_others_alone():
    made, _, told = schedule(Source("a", broken=True), Source("b"))

    assert made.sample() == {"b": 1.0}
    assert told == [("a", "OSError: gone", True)]


def test_a_failing_source_rests_ever_longer_and_is_told_once():
    source = Source("a", broken=True)
    made, clock, told = schedule(source)

    for second in range(1_000):
        clock.now = float(second)
        made.sample()

    assert source.asked < 15
    assert len(told) == 1
    assert made.states["a"].rests_until - clock.now <= LONGEST_REST_SECONDS


def test_a_source_that_works_again_is_told():
    source = Source("a", broken=True)
    made, clock, told = schedule(source)
    made.sample()
    source.broken = False
    clock.now = 10.0

    assert made.sample() == {"a": 2.0}
    assert told[-1] == ("a", "OSError: gone", False)


def test_each_source_is_timed():
    clock = Clock()

    class Slow(Source):
        def collect(self) -> Mapping[str, float]:
            clock.now += 0.25
            return super().collect()

    made = Schedule([Slow("a")], changed=lambda *_: None, clock=clock)
    made.sample()
    made.sample()

    assert made.states["a"].spent_seconds == 0.5
    assert made.states["a"].readings == 2


def test_collectors_are_found_by_their_file():
    from tb_health_plugin import collectors

    folder = Path(collectors.__file__).parent
    files = {p for p in folder.glob("[!_]*.py") if "\nCOLLECTOR = " in p.read_text()}

    assert len(collectors.collector_classes()) == len(files) > 10
