"""Exceptions as the recorder writes them, for tests."""

from collections.abc import Mapping, Sequence

import numpy as np

from tb_health_plugin.diagnosis.story import tell
from tb_health_plugin.diagnosis.verdict import Story
from tb_health_plugin.events import facts
from tb_health_plugin.reading.liveness import Life
from tb_health_plugin.reading.run_history import Attempt

GONE = Life(alive=False, because="Process 1 is gone.")

# What TensorFlow writes above an error of a graph, and below it.
GRAPH = """Graph execution error:

Detected at node {node} defined at (most recent call last):
  File "/home/ana/train.py", line 30, in <module>

  File "/venv/lib/python3.11/site-packages/keras/src/trainer.py", line 399, in fit

{said}
\t [[{{{{node {node}}}}}]] [Op:__inference_multi_step_on_iterator_490]"""
# The same around an exception of a function in Python that makes batches.
PYTHON = """Graph execution error:

Detected at node PyFunc defined at (most recent call last):
<stack traces unavailable>
{error}
Traceback (most recent call last):

  File "/venv/lib/python3.11/site-packages/tensorflow/python/ops/script_ops.py", line 269, in __call__
    ret = func(*args)

  File "/home/ana/data.py", line 44, in batches
    raise_it()

{error}


\t [[{{{{node PyFunc}}}}]]
\t [[IteratorGetNext]] [Op:__inference_multi_step_on_iterator_2226]"""  # noqa: E501 - as TensorFlow writes it


def raised(
    exception: str,
    message: str = "",
    *,
    before: Sequence[facts.Fact] = (),
    after: Sequence[facts.Fact] = (),
    settings: Mapping[str, str] | None = None,
    process: Mapping[str, str] | None = None,
    program: str | None = None,
    samples: Mapping[str, Sequence[float]] | None = None,
    **more,
) -> Story:
    """The story of a training that an exception left after 1,234 steps."""
    attempt = Attempt("a")
    if samples:
        attempt.samples.append({n: np.asarray(v, float) for n, v in samples.items()})
    started = facts.RunStarted(
        wall_time=1.0, pid=1, program=program, settings=process or {}
    )
    attempt.add(started)
    attempt.add(
        facts.TrainingStarted(
            wall_time=2.0,
            training=0,
            initial_epoch=0,
            planned_epochs=20,
            planned_steps_per_epoch=400,
            settings=settings or {},
        )
    )
    for fact in before:
        attempt.add(fact)
    attempt.add(
        facts.TrainingEnded(
            wall_time=9.0,
            step=1_234,
            last_step=1_234,
            training=0,
            reason="raised",
            exception=exception,
            message=message,
            **more,
        )
    )
    for fact in after:
        attempt.add(fact)
    return tell(attempt, GONE)


def in_graph(said: str, node: str = "model/dense/MatMul") -> str:
    return GRAPH.format(said=said, node=node)


def in_python(error: str) -> str:
    return PYTHON.format(error=error)
