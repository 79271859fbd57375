"""One file per cause that is not already told by how a run ended."""

import functools
import importlib
import pkgutil
from types import ModuleType

from tb_health_plugin.diagnosis.rule import Rule


def all_rules() -> tuple[Rule, ...]:
    """Every rule of this folder, by the name of its file."""
    return tuple(module.RULE for module in _modules())


def explanations() -> dict[str, str]:
    """What each rule's own page says, by its id."""
    return {module.RULE.id: module.__doc__ or "" for module in _modules()}


@functools.cache
def _modules() -> tuple[ModuleType, ...]:
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return tuple(importlib.import_module(f"{__name__}.{name}") for name in names)
