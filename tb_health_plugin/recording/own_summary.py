"""Asks what the reading half says of a run that is being recorded here."""

import importlib
from typing import Any

from tb_health_plugin.recording.attempts import Attempt


def summary_of(logdir: str, attempt: Attempt) -> Any:
    """A `tb_health_plugin.notebook.Summary` of the run by now."""
    # Loaded only when somebody asks: a training has no use for the reading half.
    notebook = importlib.import_module("tb_health_plugin.notebook")
    return notebook.summarize(logdir, is_over=not attempt.open)
