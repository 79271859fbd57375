"""`GET /training`: the layers, data and time of a training, as `http_api.md` has it."""

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence

from tb_health_plugin.events import facts
from tb_health_plugin.reading.run_history import Attempt
from tb_health_plugin.server import payloads
from tb_health_plugin.server.answers import find_run
from tb_health_plugin.server.view import View

# More looks than a heat map has columns are joined.
MOST_LOOKS = 240
MOST_LAYERS = 500


def training(view: View, name: str) -> payloads.TrainingPayload:
    """`GET /training`.

    Raises:
        NotFound: There is no such run.
    """
    attempt = find_run(view, name).run.history.latest or Attempt("")
    begun, looks = _looked_at(attempt)
    grouped = _grouped(looks)
    return {
        "looks": {
            "step": [group[-1].step for group in grouped],
            "time": [group[-1].wall_time for group in grouped],
        },
        "layers": _layers(begun, looks, grouped) if begun else [],
        "data": _data(attempt),
        "time": _time(attempt),
    }


def _looked_at(
    attempt: Attempt,
) -> tuple[facts.TrainingStarted | None, list[facts.Inspected]]:
    """The last training that was looked into, and the looks; else the last one."""
    begun = attempt.last(facts.TrainingStarted)
    for started in reversed(attempt.all(facts.TrainingStarted)):
        looks = [
            look
            for look in attempt.all(facts.Inspected)
            if look.training == started.training
            and len(look.gradient_norms) == len(started.variables)
        ]
        if looks:
            return started, sorted(looks, key=lambda look: look.step)
    return begun, []


def _grouped(looks: Sequence[facts.Inspected]) -> list[Sequence[facts.Inspected]]:
    count = min(len(looks), MOST_LOOKS)
    edges = [at * len(looks) // count for at in range(count + 1)] if count else [0]
    return [looks[begin:end] for begin, end in itertools.pairwise(edges)]


def _layers(
    begun: facts.TrainingStarted,
    looks: Sequence[facts.Inspected],
    grouped: Sequence[Sequence[facts.Inspected]],
) -> list[payloads.LayerPayload]:
    owned: dict[str, list[int]] = {}
    for at, variable in enumerate(begun.variables):
        owned.setdefault(variable.layer or variable.name, []).append(at)
    described = {layer.name: (at, layer) for at, layer in enumerate(begun.layers)}
    # In the order of the model; variables of a part that it does not list come last.
    names = list(dict.fromkeys([*described, *owned]))[:MOST_LAYERS]
    last = looks[-1] if looks else None
    found: list[payloads.LayerPayload] = []
    for name in names:
        at, layer = described.get(name, (-1, None))
        own = owned.get(name, [])
        found.append(
            {
                "name": name,
                "kind": layer.kind if layer else "",
                "activation": layer.activation if layer else "",
                "units": layer.units if layer else None,
                "parameters": _parameters(begun, layer, own),
                "trainable": layer.trainable if layer else None,
                "gradient_norms": [_strongest(group, own) for group in grouped],
                "weight_norm": _norm(last.weight_norms, own) if last else None,
                "update_norm": _norm(last.update_norms, own) if last else None,
                "zero_fraction": _at(last.output_zero_fractions, at) if last else None,
                "dead_fraction": _at(last.output_dead_fractions, at) if last else None,
                "saturated_fraction": (
                    _at(last.output_saturated_fractions, at) if last else None
                ),
            }
        )
    return found


def _parameters(
    begun: facts.TrainingStarted, layer: facts.Layer | None, own: Sequence[int]
) -> int | None:
    if layer and layer.parameters is not None:
        return layer.parameters
    sizes = [begun.variables[at].size for at in own]
    return sum(size for size in sizes if size is not None) if sizes else None


def _strongest(group: Iterable[facts.Inspected], own: Sequence[int]) -> float | None:
    """The largest norm of a group of looks; one that is no number wins."""
    norms = [norm for look in group if (norm := _gradient(look, own)) is not None]
    bad = next((norm for norm in norms if not math.isfinite(norm)), None)
    return bad if bad is not None else max(norms, default=None)


def _gradient(look: facts.Inspected, own: Sequence[int]) -> float | None:
    """None where no variable of the layer has a gradient at all."""
    having = [at for at in own if _at(look.has_gradient, at) != 0.0]
    return _norm(look.gradient_norms, having) if having else None


def _norm(norms: Sequence[float], own: Sequence[int]) -> float | None:
    known = [norms[at] for at in own if at < len(norms)]
    return math.hypot(*known) if known else None


def _at(values: Sequence[float], at: int) -> float | None:
    """None too where the recorder left a NaN to say that it does not apply."""
    if not 0 <= at < len(values) or math.isnan(values[at]):
        return None
    return values[at]


def _data(attempt: Attempt) -> payloads.DataPayload:
    begun = attempt.last(facts.TrainingStarted)
    settings = dict(begun.settings) if begun else {}
    batches = attempt.all(facts.BatchSeen)
    stages = settings.get("data.stages", "")
    return {
        "kind": settings.get("data.kind"),
        "stages": [stage.strip() for stage in stages.split(",") if stage.strip()],
        "settings": {
            name: value
            for name, value in sorted(settings.items())
            if name.startswith("data.") or name == "batch_size"
        },
        "batches_seen": len(batches),
        "fields": [_field(one) for one in (batches[-1].fields if batches else ())],
    }


def _field(field: facts.Field) -> payloads.FieldPayload:
    return {
        "name": field.name,
        "role": field.role,
        "dtype": field.dtype,
        "shape": list(field.shape),
        "minimum": field.minimum,
        "maximum": field.maximum,
        "mean": field.mean,
        "std": field.std,
        "zero_fraction": field.zero_fraction,
        "nonfinite_count": field.nonfinite_count,
        "distinct": field.distinct,
    }


def _time(attempt: Attempt) -> list[payloads.TimePayload]:
    """Where the time went, largest first; what is not accounted for comes last."""
    spent = attempt.all(facts.TimeSpent)
    parts: dict[str, float] = {}
    for one in spent:
        for what, seconds in _parts_of(one):
            parts[what] = parts.get(what, 0.0) + (seconds or 0.0)
    told: list[payloads.TimePayload] = [
        {"what": what, "seconds": seconds}
        for what, seconds in sorted(parts.items(), key=lambda part: -part[1])
        if seconds > 0
    ]
    whole = math.fsum(one.seconds or 0.0 for one in spent)
    rest = whole - math.fsum(part["seconds"] for part in told)
    if told and rest > 0:
        told.append({"what": "Everything else", "seconds": rest})
    return told


def _parts_of(spent: facts.TimeSpent) -> Iterator[tuple[str, float | None]]:
    yield "Waiting for data", spent.wait_seconds
    yield "Training steps", spent.step_seconds
    yield "Validation", spent.validation_seconds
    yield "Recording", spent.recording_seconds
    yield "Saving", spent.save_seconds
    for callback, seconds in spent.callback_seconds.items():
        yield f"Callback {callback}", seconds
