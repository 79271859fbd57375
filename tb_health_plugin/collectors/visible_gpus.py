"""Which GPUs a process may use: what `CUDA_VISIBLE_DEVICES` says, as CUDA reads it."""

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Card:
    """A GPU of the machine.

    Attributes:
        uuid: NVIDIA's name of it, as in `GPU-8f1c…`.
        parts: Names of the parts it is split into (MIG), if it is.
    """

    uuid: str
    parts: tuple[str, ...] = field(default=())


# A card, and its part if it is split.
Chosen = tuple[int, int | None]


def visible(cards: Sequence[Card], setting: str | None) -> list[Chosen]:
    """The places of those that CUDA shows, in CUDA's order.

    CUDA stops at the first word that names no GPU, and shows none at all if one is
    named twice. Of a card that is split, a number means its first part.

    Args:
        cards: All of the machine, in the order of the bus.
        setting: The variable; None if it is not set.
    """
    if setting is None:
        return [_whole(cards, place) for place in range(len(cards))]
    found: list[Chosen] = []
    for word in setting.split(","):
        chosen = _named(cards, word.strip())
        if chosen is None:
            break
        if chosen in found:
            return []
        found.append(chosen)
    return found


def _named(cards: Sequence[Card], word: str) -> Chosen | None:
    if word.isdecimal():
        return _whole(cards, int(word)) if int(word) < len(cards) else None
    if word.startswith("GPU-"):
        # A beginning is enough if only one begins so.
        near = [n for n, card in enumerate(cards) if card.uuid.startswith(word)]
        return _whole(cards, near[0]) if len(near) == 1 else None
    if word.startswith("MIG-"):
        for place, card in enumerate(cards):
            if word in card.parts:
                return place, card.parts.index(word)
    return None


def _whole(cards: Sequence[Card], place: int) -> Chosen:
    return place, 0 if cards[place].parts else None
