"""Facts that came through the user's own summary writer, from TensorBoard's loaders.

TensorBoard samples what it reads: of a long series a random part is left, with the
last point always among it. That is enough for the tab, and never touches our files.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from tensorboard import context as tb_context

from tb_health_plugin.events import codec, facts, tags
from tb_health_plugin.reading.run_history import Attempt
from tb_health_plugin.reading.table import TIME

ATTEMPT_ID = "summaries"
# Bounds what one answer of the data provider may hold for one tag.
MOST_POINTS = 10_000


def list_runs(provider: Any) -> list[str]:
    """Names of all runs that TensorBoard's own tabs show."""
    runs = provider.list_runs(tb_context.RequestContext(), experiment_id="")
    return [run.run_name for run in runs]


def read_attempts(provider: Any) -> dict[str, Attempt]:
    """What `tb_health_plugin.summary` wrote, by run."""
    context = tb_context.RequestContext()
    series = provider.list_tensors(
        context, experiment_id="", plugin_name=tags.PLUGIN_NAME
    )
    attempts = {}
    for run, by_tag in series.items():
        points = provider.read_tensors(
            context,
            experiment_id="",
            plugin_name=tags.PLUGIN_NAME,
            downsample=MOST_POINTS,
            run_tag_filter=_only(run, list(by_tag)),
        )
        attempt = Attempt(ATTEMPT_ID)
        for fact in _facts(points.get(run, {}), by_tag):
            add_summary(attempt, fact)
        attempts[run] = attempt
    return attempts


def _only(run: str, names: list[str]) -> Any:
    from tensorboard.data import provider as base  # noqa: PLC0415 - needed here alone

    return base.RunTagFilter(runs=[run], tags=names)


def _facts(
    points: Mapping[str, Any], series: Mapping[str, Any]
) -> Iterator[facts.Fact]:
    found = []
    for tag, data in points.items():
        content = series[tag].plugin_content
        for datum in data:
            try:
                found.append(_decode(tag, content, datum))
            except codec.UnknownRecord:
                continue
    return iter(sorted(found, key=lambda fact: fact.wall_time))


def _decode(tag: str, content: bytes, datum: Any) -> facts.Fact:
    if not codec.is_time(datum.wall_time):
        raise codec.DamagedRecord(f"{tag}: {datum.wall_time!r} is not a time")
    array = datum.numpy
    if array.dtype == object or array.dtype.kind == "S":
        data = array.item()
        return codec.decode_fact(tag, content, data, datum.wall_time, datum.step)
    numbers = array.ravel().tolist()
    return codec.decode_sample(tag, content, numbers, datum.wall_time, datum.step)


def add_summary(attempt: Attempt, fact: facts.Fact) -> None:
    """Adds what one summary held; numbers become a row of the samples, too."""
    attempt.add(fact)
    if isinstance(fact, facts.Sample) and not fact.rows:
        row = {n: [v] for n, v in zip(fact.columns, fact.values, strict=True)}
        row.setdefault("step", [float(fact.step)])
        attempt.samples.append({TIME: [fact.wall_time], **row})
