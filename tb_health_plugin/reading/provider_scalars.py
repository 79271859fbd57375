"""Scalars of runs without health data, from TensorBoard's own loaders.

Those have read them anyway. Only losses are asked for, and only when a run has grown.
"""

from collections.abc import Iterable
from typing import Any

from tensorboard import context as tb_context
from tensorboard.data import provider as base

from tb_health_plugin.reading.library import Run
from tb_health_plugin.reading.parts import part_of
from tb_health_plugin.reading.scalars import Point, Scalars

SCALARS = "scalars"
# Bounds what a look may cost: beyond, runs are only listed.
MOST_RUNS = 200
MOST_POINTS = 1_000


class ProviderScalars:
    """Keeps the losses of some runs up to date.

    Args:
        provider: TensorBoard's data provider.
    """

    def __init__(self, provider: Any) -> None:
        self._provider = provider
        self._ends: dict[str, dict[str, tuple[int, float]]] = {}
        self._read: dict[str, Scalars] = {}

    def read_trainings(self, runs: Iterable[Run]) -> dict[str, Scalars]:
        """What is known of these trainings, each with all of its parts."""
        trainings = list(runs)
        read = self.read(name for run in trainings for name in run.tensorboard_runs)
        found: dict[str, Scalars] = {}
        for run in trainings:
            for name in run.tensorboard_runs:
                for (_, tag), points in read.get(name, Scalars(name)).series.items():
                    whole = found.setdefault(run.name, Scalars(run.name))
                    whole.series[part_of(name, run.name), tag] = points
        return found

    def read(self, runs: Iterable[str]) -> dict[str, Scalars]:
        """What is known of these runs; none for those without scalars."""
        names = sorted(runs)[:MOST_RUNS]
        if not names:
            return {}
        listed = self._provider.list_scalars(
            tb_context.RequestContext(),
            experiment_id="",
            plugin_name=SCALARS,
            run_tag_filter=base.RunTagFilter(runs=names),
        )
        for run, series in listed.items():
            ends = {
                tag: (one.max_step, one.max_wall_time) for tag, one in series.items()
            }
            if ends and self._ends.get(run) != ends:
                self._read[run] = self._losses(run, ends)
                self._ends[run] = ends
        return {name: self._read[name] for name in names if name in self._read}

    def _losses(self, run: str, ends: dict[str, tuple[int, float]]) -> Scalars:
        found = Scalars(run)
        for tag, (step, wall_time) in ends.items():
            # Stands for a series that is not read: its end is known.
            found.series[".", tag] = [Point(step, wall_time, 0.0)]
        tags = [tag for tag in ends if "loss" in tag.lower()]
        if not tags:
            return found
        points = self._provider.read_scalars(
            tb_context.RequestContext(),
            experiment_id="",
            plugin_name=SCALARS,
            downsample=MOST_POINTS,
            run_tag_filter=base.RunTagFilter(runs=[run], tags=tags),
        )
        for tag, data in points.get(run, {}).items():
            found.series[".", tag] = [
                Point(one.step, one.wall_time, float(one.value)) for one in data
            ]
        return found
