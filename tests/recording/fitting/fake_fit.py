"""A `fit` without a recording: facts and faults are kept in lists."""

from collections.abc import Mapping
from typing import Any

from tb_health_plugin.recording.fitting.fit import Fit
from tb_health_plugin.recording.guard import Guard


class FakeRecorder:
    """Keeps facts.

    Attributes:
        facts: What was recorded.
        faults: What failed, and why.
    """

    def __init__(self) -> None:
        self.facts: list[Any] = []
        self.faults: list[tuple[str, str]] = []

    def record(self, fact: Any) -> None:
        self.facts.append(fact)

    def fault(self, what: str, why: str) -> None:
        self.faults.append((what, why))


def fake_fit(
    model: Any = None,
    arguments: Mapping[str, Any] | None = None,
    callbacks: list[Any] | None = None,
) -> Any:
    recorder: Any = FakeRecorder()
    return Fit(
        recorder=recorder,
        guard=Guard(recorder.fault),
        model=model,
        arguments=arguments or {},
        params={},
        callbacks=callbacks or [],
        training=0,
    )
