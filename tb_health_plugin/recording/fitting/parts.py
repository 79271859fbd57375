"""All that is watched during a `fit`, in the order in which it begins."""

from tb_health_plugin.recording.fitting.callback_watch import CallbackWatch
from tb_health_plugin.recording.fitting.fit import PartMaker
from tb_health_plugin.recording.fitting.saves import Saves
from tb_health_plugin.recording.fitting.step_gate import step_gate
from tb_health_plugin.recording.fitting.stop_watch import StopWatch
from tb_health_plugin.recording.fitting.trace_count import trace_count
from tb_health_plugin.recording.fitting.validation_watch import ValidationWatch

PARTS: tuple[PartMaker, ...] = (
    CallbackWatch,
    StopWatch,
    Saves,
    trace_count,
    ValidationWatch,
    step_gate,
)
