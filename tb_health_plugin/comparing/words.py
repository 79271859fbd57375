"""A comparison in words: the headline, the sentence below it, the cells of the list."""

import math
from dataclasses import dataclass

from tb_health_plugin.comparing.alignment import Align
from tb_health_plugin.comparing.comparison import (
    Compared,
    Comparison,
    Place,
    differing,
    step_ratio,
)
from tb_health_plugin.comparing.quantities import number, quantity, stretch, times

# A place less exact than this share of the run is told as "about".
_EXACT_SHARE = 0.01
# Before this share of the run there is hardly a sample that shows runs to be alike.
_EARLY_SHARE = 0.02
# Runs that differ more in their steps are hardly comparable by step.
_MANY_TIMES_THE_STEPS = 20
# A rate below this many bytes is told per thousand.
_SMALLEST_RATE = float(1 << 20)
_PER = {
    "step": (1.0, "step", 1_000.0, "1,000 steps"),
    "time": (60.0, "minute", 3_600.0, "hour"),
    "epoch": (1.0, "epoch", 100.0, "100 epochs"),
    "end": (60.0, "minute", 3_600.0, "hour"),
}


@dataclass(frozen=True, slots=True)
class Told:
    """A comparison in sentences.

    Attributes:
        headline: Where the runs part, and how.
        summary: The same in numbers, and what else differs.
        note: What to mind when reading it; None if nothing.
    """

    headline: str
    summary: str
    note: str | None


def tell(comparison: Comparison, *, settings_differ: bool, to_explain: bool) -> Told:
    """Says what a comparison found.

    Args:
        comparison: What was found.
        settings_differ: The runs were set differently.
        to_explain: Something is wrong with A, so finding nothing is not good news.
    """
    main = comparison.main
    note = _note(comparison)
    if main is None:
        return Told(_nothing(comparison, settings_differ, to_explain), "", note)
    others = [one for one in differing(comparison.compared) if one is not main]
    return Told(_headline(main, comparison), _summary(main, others, comparison), note)


def _nothing(comparison: Comparison, settings_differ: bool, to_explain: bool) -> str:
    if not any(one.kind == "alike" for one in comparison.compared):
        return "The runs have too little in common to be compared."
    if not to_explain:
        return "The runs are alike: no signal differs."
    see = " See the settings." if settings_differ else ""
    missing = [one for one in comparison.compared if one.kind == "missing"]
    if not missing:
        return f"No signal differs enough to explain it.{see}"
    count, of = len(missing), len(comparison.compared)
    why = f"{count:,} of {of:,} have too few samples in one of the runs."
    return f"No signal that could be compared differs: {why}{see}"


def _headline(main: Compared, comparison: Comparison) -> str:
    how = _sentence(main, comparison)
    if main.from_start:
        return f"The runs differ {_from_start(comparison.align)}: {how}."
    assert main.begins is not None
    where = place_words(main.begins, comparison)
    is_other = any(one.from_start for one in differing(comparison.compared))
    is_early = main.begins.x < _EARLY_SHARE * _extent(comparison)
    if is_other or (is_early and comparison.align != "end"):
        # They were not alike before, or not for long: that must not be said.
        return f"From {where} {how}."
    return f"The runs are alike until {where}. Then {how}."


def _sentence(one: Compared, comparison: Comparison) -> str:
    """What happens, from the name of the signal on."""
    noun, unit, b = one.signal.noun, one.signal.unit, comparison.other
    if one.kind == "not_finite":
        run, other = ("A", b) if one.of == "a" else (b, "A")
        return f"{noun} becomes {_bad_word(one)} in {run} and not in {other}"
    if one.turns_bad is not None:
        verb = "falls" if one.kind == "falls" else _verb(one)
        return f"{noun} {verb} in A and becomes {_bad_word(one)}"
    if one.kind in ("grows", "falls"):
        verb = _verb(one) if one.kind == "grows" else "falls"
        return f"{noun} {verb} in A and not in {b}"
    assert one.a is not None
    assert one.b is not None
    ratio = _ratio(one)
    if ratio is None:
        of_a, of_b = quantity(unit, one.a), quantity(unit, one.b)
        return f"{noun} is {of_a} in A and {of_b} in {b}"
    return f"{noun} is {times(ratio)} {'higher' if one.higher else 'lower'} in A"


def _bad_word(one: Compared) -> str:
    value = one.bad if one.turns_bad else one.a if one.of == "a" else one.b
    return "NaN" if value is None or math.isnan(value) else "infinite"


def _verb(one: Compared) -> str:
    return "grows" if one.signal.unit == "bytes" else "rises"


def _ratio(one: Compared) -> float | None:
    """How many times higher or lower; None where that says nothing."""
    if one.signal.unit in ("fraction", "celsius") or not one.a or not one.b:
        return None
    if one.a * one.b < 0:
        return None
    low, high = sorted((abs(one.a), abs(one.b)))
    return high / low


def _summary(main: Compared, others: list[Compared], comparison: Comparison) -> str:
    sentences = []
    if main.kind != "not_finite":
        sentences += _in_numbers(main, comparison)
    earlier = [one for one in others if one.from_start and not main.from_start]
    if earlier:
        start = _from_start(comparison.align).capitalize()
        sentences.append(f"{start}, {_sentence(earlier[0], comparison)}.")
    elif others and not main.from_start and all(_later(one, main) for one in others):
        sentences.append("Everything else that differs starts later.")
    elif not others:
        missing = any(one.kind == "missing" for one in comparison.compared)
        of = " that could be compared" if missing else ""
        sentences.append(f"No other signal{of} differs.")
    if main.ends is not None:
        until = place_words(main.ends, comparison)
        sentences.append(f"It is over at {until}.")
    return " ".join(sentences)


def _in_numbers(main: Compared, comparison: Comparison) -> list[str]:
    if main.kind == "level" and _ratio(main) is None:
        # The headline has the numbers.
        return []
    a, b = cells(main, comparison)
    if main.signal.unit != "bytes" or main.kind not in ("grows", "falls"):
        return [f"{main.signal.title}: {a} in A, {b} in {comparison.other}."]
    return [_course("A", a), _course(comparison.other, b)]


def _course(run: str, cell: str) -> str:
    """A cell as a sentence: A gains 24 MiB per step. B stays at 5.2 GiB."""
    if cell.startswith("flat at "):
        return f"{run} stays at {cell.removeprefix('flat at ')}."
    return f"{run} {'loses' if cell.startswith('-') else 'gains'} {cell.lstrip('+-')}."


def _later(one: Compared, main: Compared) -> bool:
    assert one.begins is not None
    assert main.begins is not None
    return not one.from_start and one.begins.x >= main.begins.x


def _note(comparison: Comparison) -> str | None:
    if comparison.align != comparison.asked:
        missing = "epochs" if comparison.asked == "epoch" else "steps"
        return f"One of the runs recorded no {missing}: they are aligned by time."
    ratio = step_ratio(comparison.a, comparison.b)
    if ratio <= _MANY_TIMES_THE_STEPS:
        return None
    is_a = comparison.a.last_step > comparison.b.last_step
    more = "A" if is_a else comparison.other
    return (
        f"{more} has {times(ratio)} as many steps as the other run: only the part that "
        "both have is compared."
    )


def cells(one: Compared, comparison: Comparison) -> tuple[str, str]:
    """The numbers of A and of B, as they stand in the list."""
    unit = one.signal.unit
    texts = []
    for value, rate in ((one.a, one.a_rate), (one.b, one.b_rate)):
        if value is None:
            texts.append("–")
        elif unit != "bytes" or one.kind not in ("grows", "falls"):
            texts.append(quantity(unit, value))
        elif rate is None or _is_flat(rate, one):
            texts.append(f"flat at {quantity(unit, value)}")
        else:
            texts.append(_rate_words(rate, comparison.align))
    return texts[0], texts[1]


def _is_flat(rate: float, one: Compared) -> bool:
    largest = max(abs(one.a_rate or 0.0), abs(one.b_rate or 0.0))
    return abs(rate) < largest / 4


def _rate_words(rate: float, align: Align) -> str:
    factor, per, large_factor, large_per = _PER[align]
    amount = rate * factor
    if abs(amount) < _SMALLEST_RATE:
        amount, per = rate * large_factor, large_per
    sign = "+" if amount > 0 else ""
    return f"{sign}{quantity('bytes', amount)} per {per}"


def what(one: Compared, comparison: Comparison) -> str:
    """One line below the name of the signal."""
    if one.kind == "alike":
        return "no difference"
    if one.kind == "missing":
        if one.of is None:
            return "too few samples to compare"
        return f"only recorded in {_letter(one.of, comparison)}"
    if one.kind == "not_finite":
        assert one.of is not None
        return f"becomes {_bad_word(one)} in {_letter(one.of, comparison)}"
    if one.kind == "grows":
        words = _onset(one, "grow" if one.signal.unit == "bytes" else "ris")
    elif one.kind == "falls":
        words = _onset(one, "fall")
    else:
        ratio = _ratio(one)
        more = "higher" if one.higher else "lower"
        words = f"{times(ratio)} {more} in A" if ratio else f"{more} in A"
    if one.turns_bad is not None:
        bad = place_words(one.turns_bad, comparison)
        return f"{words}, {_bad_word(one)} at {bad}"
    if one.ends is None:
        return words
    return f"{words} until {place_words(one.ends, comparison)}"


def _letter(of: str, comparison: Comparison) -> str:
    return "A" if of == "a" else comparison.other


def _onset(one: Compared, stem: str) -> str:
    ending = "es" if stem == "ris" else "s"
    return f"{stem}{ending} in A" if one.from_start else f"starts {stem}ing in A"


def begins(one: Compared, comparison: Comparison) -> str:
    """Where the difference begins, as it stands in the list."""
    if one.begins is None:
        return "–"
    if one.from_start:
        return _from_start(comparison.align).removeprefix("from the ")
    return place_words(one.begins, comparison)


def _from_start(align: Align) -> str:
    if align == "end":
        return "all along"
    return "from the first step" if align == "step" else "from the start"


def place_words(place: Place, comparison: Comparison) -> str:
    """Step 812, 4 min, epoch 2.5 or 12 min before the end."""
    align = comparison.align
    about = "about " if place.about > _EXACT_SHARE * _extent(comparison) else ""
    if align == "step":
        return f"{about}step {place.x:,.0f}"
    if align == "epoch":
        return f"{about}epoch {number(place.x)}"
    if align == "time":
        return f"{about}{stretch(place.x)} after the start"
    return f"{about}{stretch(-place.x)} before the end"


def _extent(comparison: Comparison) -> float:
    """How far the axis reaches in A."""
    clock = comparison.a
    if comparison.align == "step":
        return float(clock.last_step)
    if comparison.align == "epoch":
        return clock.epochs[-1]
    return clock.ended_at - clock.started_at
