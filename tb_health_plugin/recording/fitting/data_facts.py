"""What `fit` was given to train and to validate on."""

import math
from collections.abc import Mapping
from typing import Any

from tb_health_plugin.recording.fitting.data_source import Source, source_of

# What Keras takes for arrays if nothing is given.
_BATCH_SIZE = 32
# For all else, Keras passes over `shuffle`.
_SHUFFLED_BY_KERAS = ("arrays", "PyDataset")


def settings_of(arguments: Mapping[str, Any]) -> dict[str, str]:
    """Settings by name; the vocabulary is in events/settings.py."""
    found: dict[str, str] = {}
    if arguments.get("x") is not None:
        source = source_of(arguments["x"])
        found |= _told("data", source, _batches(source, arguments))
        if source.kind == "arrays":
            found["batch_size"] = str(_batch_size(arguments))
        if source.kind in _SHUFFLED_BY_KERAS:
            found["shuffle"] = str(arguments.get("shuffle", True))
    validation = _validation(arguments)
    if validation is not None:
        batches = _validation_batches(validation, arguments)
        found |= _told("validation", validation, batches)
    return found


def planned_validation_steps(arguments: Mapping[str, Any]) -> int | None:
    """Batches of one validation, if that is known beforehand."""
    validation = _validation(arguments)
    if validation is None:
        return None
    asked = arguments.get("validation_steps")
    return int(asked) if asked else _validation_batches(validation, arguments)


def _told(prefix: str, source: Source, batches: int | None) -> dict[str, str]:
    found = {
        "kind": source.kind,
        "examples": source.examples,
        "batches": batches,
        "infinite": "True" if source.infinite else None,
        **source.more,
    }
    return {
        f"{prefix}.{key}": str(value)
        for key, value in found.items()
        if value is not None
    }


def _batch_size(arguments: Mapping[str, Any]) -> int:
    return int(arguments.get("batch_size") or _BATCH_SIZE)


def _batches(source: Source, arguments: Mapping[str, Any]) -> int | None:
    if source.examples is None:
        return source.batches
    kept = source.examples - _kept_back(source.examples, arguments)
    return math.ceil(kept / _batch_size(arguments))


def _kept_back(examples: int, arguments: Mapping[str, Any]) -> int:
    """Rows that `validation_split` takes from the end."""
    share = arguments.get("validation_split") or 0.0
    if arguments.get("validation_data") is not None or not share:
        return 0
    return examples - math.floor(examples * (1.0 - share))


def _validation(arguments: Mapping[str, Any]) -> Source | None:
    data = arguments.get("validation_data")
    if data is not None:
        # Arrays come as (x, y), all else as itself.
        return source_of(data[0] if isinstance(data, tuple | list) else data)
    if arguments.get("x") is None:
        return None
    source = source_of(arguments["x"])
    kept = _kept_back(source.examples or 0, arguments)
    return Source(kind=source.kind, examples=kept) if kept else None


def _validation_batches(source: Source, arguments: Mapping[str, Any]) -> int | None:
    if source.examples is None:
        return source.batches
    size = arguments.get("validation_batch_size") or _batch_size(arguments)
    return math.ceil(source.examples / int(size))
