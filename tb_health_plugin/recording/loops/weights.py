"""The weights of a loop: their names, norms, and whether all of them are finite."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tb_health_plugin.events import facts
from tb_health_plugin.recording.loops.numbers import Array, is_real, norm, to_array

# A fact has to fit into the memory that facts wait in, beside others.
MOST_VARIABLES = 4_000
# Larger models are not copied to see what one step changes: that takes memory which
# the training may need.
MOST_NUMBERS_COPIED = 16_000_000
# How TensorFlow names variables with one value per replica. To read one of those is to
# talk to the other workers, which may not listen.
_ON_READ = "ON_READ"


class Weights:
    """All variables that are trained, or belong to a model, in the order of the facts.

    Args:
        models: With their names. Models may share variables, which then count once.

    Attributes:
        variables: The variables.
        names: Their names; no two are the same.
        trainable: Whether each is trained.
    """

    def __init__(self, models: Sequence[tuple[str, Any]]) -> None:
        self._models = models
        self._strays: dict[int, Any] = {}
        self._places: dict[int, int] = {}
        self._probes: list[int] = []
        self.variables: list[Any] = []
        self.names: list[str] = []
        self.trainable: list[bool] = []
        self.refresh()

    def refresh(self) -> bool:
        """Takes in what models have made since; True if there is something new."""
        owned: dict[int, tuple[str, Any]] = {}
        for name, model in self._models:
            for variable in model.variables:
                owned.setdefault(id(variable), (name, variable))
        for stray in self._strays.values():
            owned.setdefault(id(stray), ("", stray))
        found = list(owned.values())[:MOST_VARIABLES]
        if len(found) == len(self.variables):
            return False
        trained = {id(v) for _, m in self._models for v in m.trainable_variables}
        trained.update(self._strays)
        self.variables = [variable for _, variable in found]
        self.names = _unique_names(found)
        self.trainable = [id(variable) in trained for variable in self.variables]
        self._places = {}
        for place, variable in enumerate(self.variables):
            self._places[id(variable)] = place
            # What Keras wraps may be handed over by itself.
            self._places[id(getattr(variable, "value", variable))] = place
        self._probes = self._choose_probes()
        return True

    def adopt(self, variables: Iterable[Any]) -> bool:
        """Notes variables that are trained, for `refresh`; True if some are new."""
        new = {id(v): v for v in variables if self.place(v) is None}
        self._strays.update(new)
        return bool(new)

    def place(self, variable: Any) -> int | None:
        """Where a variable stands in the order; None if it is not known."""
        return self._places.get(id(variable))

    def norm_at(self, place: int) -> float:
        return _norm_of(self.variables[place])

    def norms(self) -> list[float]:
        """The norm of each; NaN for what cannot be read or holds no real numbers."""
        return [_norm_of(variable) for variable in self.variables]

    def copies(self) -> list[Array | None]:
        """What each trained one holds; None for others and for what is too large."""
        room = MOST_NUMBERS_COPIED
        copied: list[Array | None] = []
        for variable, trainable in zip(self.variables, self.trainable, strict=True):
            size = size_of(variable)
            if not trainable or size > room or not _may_read(variable):
                copied.append(None)
            else:
                room -= size
                copied.append(np.array(to_array(variable)))
        return copied

    def changes_since(self, before: Sequence[Array | None]) -> list[float]:
        """The norm of what changed in each; NaN where that is not known."""
        return [
            math.nan if old is None else norm(to_array(variable) - old)
            for variable, old in zip(self.variables, before, strict=True)
        ]

    def look_fine(self) -> bool:
        """A cheap look, at one small variable of the first layer of each model.

        A gradient that is not finite spreads to all layers before the one it comes
        from, so the first layer gets it.
        """
        return all(math.isfinite(_norm_of(self.variables[p])) for p in self._probes)

    def bad_ones(self) -> list[str]:
        """Names of those that hold a number that is not finite."""
        bad = []
        for name, variable in zip(self.names, self.variables, strict=True):
            if _may_read(variable):
                array = to_array(variable)
                if is_real(array) and not math.isfinite(norm(array)):
                    bad.append(name)
        return bad

    def described(self) -> tuple[facts.Variable, ...]:
        every = zip(self.names, self.variables, self.trainable, strict=True)
        return tuple(
            facts.Variable(
                name=name,
                layer=name.rpartition("/")[0],
                size=size_of(variable),
                trainable=trainable,
                dtype=str(getattr(variable.dtype, "name", variable.dtype)),
            )
            for name, variable, trainable in every
        )

    def trainable_parameters(self) -> int:
        every = zip(self.variables, self.trainable, strict=True)
        return sum(size_of(variable) for variable, trainable in every if trainable)

    def _choose_probes(self) -> list[int]:
        firsts = [list(model.trainable_variables)[:2] for _, model in self._models]
        firsts.append(list(self._strays.values())[:2])
        probes = []
        for first in firsts:
            places = [p for p in map(self.place, first) if p is not None]
            readable = [p for p in places if _may_read(self.variables[p])]
            if readable:
                probes.append(min(readable, key=lambda p: size_of(self.variables[p])))
        return probes


def path_of(variable: Any) -> str:
    """Its path in the model; variables of TensorFlow's own have a name only."""
    return str(getattr(variable, "path", None) or variable.name)


def size_of(variable: Any) -> int:
    return math.prod(int(size) for size in variable.shape)


def _unique_names(owned: Sequence[tuple[str, Any]]) -> list[str]:
    paths = [path_of(variable) for _, variable in owned]
    often = Counter(paths)
    names: dict[str, None] = {}
    for (owner, _), path in zip(owned, paths, strict=True):
        name = f"{owner}/{path}" if owner and often[path] > 1 else path
        names[name if name not in names else f"{name} ({len(names)})"] = None
    return list(names)


def _norm_of(variable: Any) -> float:
    if not _may_read(variable):
        return math.nan
    array = to_array(variable)
    return norm(array) if is_real(array) else math.nan


def _may_read(variable: Any) -> bool:
    # Of Keras' variables `value` is TensorFlow's; of TensorFlow's it is a method.
    raw = getattr(variable, "value", variable)
    how = getattr(variable if callable(raw) else raw, "synchronization", None)
    return getattr(how, "name", None) != _ON_READ
