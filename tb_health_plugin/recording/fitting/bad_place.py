"""Where in one step a bad number began."""

from dataclasses import dataclass
from typing import Any

from tb_health_plugin.recording.fitting.flat_layers import named_layers
from tb_health_plugin.recording.fitting.look import Look
from tb_health_plugin.recording.fitting.probes import Probes


@dataclass(frozen=True, slots=True)
class Place:
    """The place, in the words of `facts.FirstBadNumber`."""

    began_in: str
    name: str | None = None
    kind: str | None = None
    row: int | None = None
    value: str = "nan"
    bad_layers: tuple[str, ...] = ()
    bad_variables: tuple[str, ...] = ()


def place_in(look: Look, probes: Probes, usually_bad: set[int]) -> Place:
    """The first place of a step that went bad, in the order in which it ran.

    Args:
        look: The step.
        probes: What it was looked at with.
        usually_bad: Outputs that are infinite in good steps, too.
    """
    variables = [variable.path for variable in probes.model.variables]
    weights = look.bad_weights()
    outputs = [one for one in look.bad_outputs() if one not in usually_bad]
    gradients = look.bad_gradients()
    bad_layers = tuple(probes.places[index][0] for index in outputs)
    bad_variables = tuple(variables[index] for index in gradients or weights)
    if weights:
        index = weights[0]
        found = Place("weights", name=variables[index])
        value = _value(look.weights[index, 3])
    elif outputs:
        found, value = _layer(look, probes, outputs[0])
    elif look.is_loss_bad():
        found, value = Place("loss"), _value(look.loss != look.loss)
    else:
        index = _first_in_backward(look, probes, gradients)
        found = Place("gradient", name=variables[index])
        value = _value(look.gradients[index, 3])
    return Place(
        found.began_in,
        name=found.name,
        kind=found.kind,
        row=found.row,
        value=value,
        bad_layers=bad_layers,
        bad_variables=bad_variables,
    )


def _layer(look: Look, probes: Probes, place: int) -> tuple[Place, str]:
    name, layer = probes.places[place]
    numbers = look.outputs[place]
    row = None if numbers[8] != numbers[8] else int(numbers[8])
    found = Place("layer", name=name, kind=type(layer).__name__, row=row)
    return found, _value(numbers[7])


def _first_in_backward(look: Look, probes: Probes, bad: list[int]) -> int:
    """Gradients flow backwards: the bad one nearest to the loss came first."""
    ran = {place: order for order, place in enumerate(look.order)}
    owners = _owners(probes)
    variables = probes.model.variables
    return max(bad, key=lambda index: ran.get(owners.get(id(variables[index]), -1), -1))


def _owners(probes: Probes) -> dict[int, int]:
    """Place of the layer that each variable belongs to."""
    return {
        id(variable): place
        for place, (_, layer) in enumerate(named_layers(probes.model))
        for variable in layer.variables
    }


def _value(nans: Any) -> str:
    return "nan" if nans else "inf"
