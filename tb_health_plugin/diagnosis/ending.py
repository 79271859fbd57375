"""The end of a run: a state, a chip and the verdict behind them."""

from dataclasses import dataclass

from tb_health_plugin.diagnosis.verdict import State, Verdict


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended, for its list and for its page."""

    state: State
    chip: str
    verdict: Verdict
