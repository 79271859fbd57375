"""The layers of a model as one list, nested models opened."""

from collections.abc import Iterator
from typing import Any

# A model inside a model inside a model … more than this is a loop, not a model.
_DEEPEST = 20


def flat_layers(model: Any) -> list[Any]:
    """Every layer that computes something, once, in the order the model names them.

    A layer that wraps others counts as one. Inputs are left out. Every fact that
    says something per layer keeps this order.
    """
    return [layer for _, layer in named_layers(model)]


def named_layers(model: Any) -> list[tuple[str, Any]]:
    """The same, each with its path: names of models and layer, joined by slashes."""
    found: dict[int, tuple[str, Any]] = {}
    for path, layer in _walk(model, "", _DEEPEST):
        found.setdefault(id(layer), (path, layer))
    return list(found.values())


def is_model(layer: Any) -> bool:
    """True if it is a model with layers of its own, not a layer that wraps some."""
    # Wrappers keep theirs in `layer` or `cells`; only models have `layers` and `fit`.
    return hasattr(layer, "fit") and isinstance(getattr(layer, "layers", None), list)


def is_input(layer: Any) -> bool:
    return type(layer).__name__ == "InputLayer"


def _walk(model: Any, prefix: str, deeper: int) -> Iterator[tuple[str, Any]]:
    for layer in model.layers:
        path = f"{prefix}{layer.name}"
        if is_model(layer) and deeper:
            yield from _walk(layer, f"{path}/", deeper - 1)
        elif not is_input(layer):
            yield path, layer
