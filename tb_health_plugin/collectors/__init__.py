"""One module per source of numbers. To add a source, add a module; nothing else."""

import importlib
import pkgutil
from collections.abc import Iterable
from pathlib import Path

from tb_health_plugin.collectors.collector import (
    Collector,
    SourceUnavailable,
    Watched,
)
from tb_health_plugin.events.facts import Fact, NotRecorded


def collector_classes() -> tuple[type[Collector], ...]:
    """The `COLLECTOR` of every module in this package, by module name."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    modules = (importlib.import_module(f"{__name__}.{name}") for name in names)
    return tuple(m.COLLECTOR for m in modules if hasattr(m, "COLLECTOR"))


def available_collectors(
    watched: Watched,
) -> tuple[list[Collector], list[NotRecorded]]:
    """The sources that this machine offers, and those it does not, with the reason."""
    collectors = []
    missing = []
    for kind in collector_classes():
        try:
            collectors.append(kind(watched))
        except SourceUnavailable as reason:
            missing.append(NotRecorded(what=kind.what, why=str(reason)))
        except Exception as error:  # noqa: BLE001 - one source must not stop the rest
            why = f"it failed ({type(error).__name__}: {error})"
            missing.append(NotRecorded(what=kind.what, why=why))
    # What is there and could be measured comes before what is not there.
    missing.sort(key=lambda one: not (one.why or "").startswith("no collector"))
    return collectors, missing


def settings_of(collectors: Iterable[Collector]) -> dict[str, str]:
    """What they found out once, by names out of `events/settings.py`."""
    return {
        name: text
        for collector in collectors
        for name, text in getattr(collector, "settings", {}).items()
    }


def tell_save(collectors: Iterable[Collector], folder: Path) -> None:
    """Tells those who want to know that the training saved its model there."""
    for collector in collectors:
        saves_into = getattr(collector, "saves_into", None)
        if saves_into is not None:
            saves_into(folder)


def news_of(collectors: Iterable[Collector], wall_time: float, step: int) -> list[Fact]:
    """What they saw that is no number and happened once."""
    return [
        fact
        for collector in collectors
        if hasattr(collector, "news")
        for fact in collector.news(wall_time, step)
    ]
