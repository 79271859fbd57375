"""Many short calls of `fit` on one model are one training, written as a loop."""

import dataclasses
import itertools
from collections.abc import Iterator, Sequence

from tb_health_plugin.diagnosis.case import Training

# `for epoch in range(50): model.fit(..., epochs=1)`: calls of more epochs than this
# are stages of their own, as in a curriculum or in fine-tuning.
MOST_EPOCHS = 2
# Fewer calls may be stages, too.
LEAST_CALLS = 3


def joined(trainings: Sequence[Training]) -> list[Training]:
    """The trainings, with rows of short calls on the same model made into one."""
    return [
        one
        for _, group in itertools.groupby(trainings, key=_same)
        for one in _one(list(group))
    ]


def _same(training: Training) -> object:
    """Equal for calls that go on with each other, different for all others."""
    started = training.started
    if started.loop != "fit" or len(training.epochs) > MOST_EPOCHS:
        return id(training)
    layers = tuple(layer.name for layer in started.layers)
    return started.model, layers, started.settings.get("loss")


def _one(group: Sequence[Training]) -> Iterator[Training]:
    if len(group) < LEAST_CALLS:
        yield from group
        return
    # Every call counts its epochs from 0 again.
    epochs = [epoch for training in group for epoch in training.epochs]
    yield Training(
        started=dataclasses.replace(group[0].started, planned_epochs=len(epochs)),
        ended=group[-1].ended,
        epochs=tuple(
            dataclasses.replace(epoch, epoch=number)
            for number, epoch in enumerate(epochs)
        ),
        inspections=tuple(look for t in group for look in t.inspections),
        batches=tuple(seen for t in group for seen in t.batches),
        spent=tuple(spent for t in group for spent in t.spent),
        stops=tuple(stop for t in group for stop in t.stops),
        bad_numbers=tuple(bad for t in group for bad in t.bad_numbers),
        saves=tuple(save for t in group for save in t.saves),
    )
