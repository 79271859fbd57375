"""A fault of ours at any place inside a training never reaches the training."""

import importlib
import itertools
import threading
from pathlib import Path
from typing import Any

import pytest

from demo.tensorboard_server import wait_until
from tb_health_plugin.recording import attempts, process_end
from tests.recording.faults.places import Guarded, guarded_places, hook_points

PLACES = guarded_places()
# Reached only when the other one has failed, too.
ONLY_AFTER = {
    ("keras_callback.py", "_finish"): ("keras_callback.py", "_returned"),
}
# Where this fails, something of ours stays on the model: it was not taken away.
TAKES_AWAY = ("_end_parts", "_close")

# Each point at which others call ours, and what catches a fault there: a guarded place
# below, or the reason why none can get out.
HOOK_POINTS = {
    "crash_stacks.py: faulthandler.enable": "C code, no line of ours runs",
    "crash_stacks.py: faulthandler.register": "C code, no line of ours runs",
    "crash_stacks.py: os.register_at_fork": "Python shows and drops what it raises",
    "fitting/around.py: class Unseen": "passes on",
    "fitting/callback_watch.py: class _Hook": "fitting/callback_watch.py",
    "fitting/fit_watch.py: threading.Thread": "fitting/fit_watch.py",
    "fitting/fit_watch.py: weakref.finalize": "fitting/fit_watch.py",
    "fitting/probes.py: class _Apply": "fitting/probes.py",
    "fitting/probes.py: class _ComputeLoss": "fitting/probes.py",
    "fitting/probes.py: class _Output": "fitting/probes.py",
    "fitting/probes.py: class _ScaleLoss": "fitting/probes.py",
    "fitting/saves.py: class _Save": "fitting/saves.py",
    "fitting/several_steps.py: class SeveralSteps": "fitting/step_watch.py",
    "fitting/several_steps.py: class _Batches": "fitting/step_watch.py",
    "fitting/step_gate.py: class _OneStep": "fitting/step_watch.py",
    "fitting/stop_watch.py: setattr": "fitting/stop_watch.py",
    "fitting/time_spent.py: gc.callbacks.append": "Python shows and drops it",
    "fitting/time_spent.py: setattr": "an object of ours",
    "fitting/trace_count.py: class _Call": "fitting/trace_count.py",
    "fitting/validation_gate.py: class ValidationGate": "fitting/validation_gate.py",
    "fitting/validation_gate.py: class _TestStep": "fitting/validation_gate.py",
    "fitting/validation_watch.py: class _Evaluate": "fitting/fit_watch.py",
    "keras_callback.py: class HealthCallback": "keras_callback.py",
    "keras_pickup.py: keras.Model.fit =": "keras_pickup.py",
    "keras_pickup.py: loader.exec_module =": "keras_pickup.py",
    "keras_pickup.py: sys.meta_path.insert": "keras_pickup.py",
    "launched.py: setattr": "before the program runs",
    "launched.py: sys.argv =": "before the program runs",
    "launched.py: sys.excepthook =": "after the program has failed",
    "launched.py: sys.last_traceback =": "after the program has failed",
    "launched.py: sys.orig_argv =": "before the program runs",
    "log_tail.py: logging.setLogRecordFactory": "log_tail.py",
    "loops/batches.py: class WatchedData": "loops/batches.py",
    "loops/batches.py: class _Elements": "loops/batches.py",
    "loops/eager_losses.py: setattr": "loops/eager_losses.py",
    "loops/gradients.py: class _Apply": "loops/gradients.py",
    "loops/graph_norms.py: threading.Thread": "loops/gradients.py",
    "loops/plain_data.py: kind.__next__ =": "loops/plain_data.py",
    "loops/tapes.py: tape.gradient =": "loops/tapes.py",
    "loops/watch.py: atexit.register": "loops/loop.py",
    "notebook_cells.py: events.register": "attempts.py",
    "optimizer_pickup.py: atexit.register": "optimizer_pickup.py",
    "optimizer_pickup.py: kind.apply =": "optimizer_pickup.py",
    "optimizer_pickup.py: threading.Thread": "optimizer_pickup.py",
    "process_end.py: atexit.register": "attempts.py",
    "process_end.py: sys.excepthook =": "attempts.py",
    "program_said.py: logger.addFilter": "program_said.py",
    "program_said.py: warnings.showwarning =": "program_said.py",
    "reactions.py: threading.Thread": "reactions.py",
    "recorder.py: os.register_at_fork": "Python shows and drops what it raises",
    "recorder.py: threading.Thread": "recorder.py",
}


def test_every_hook_point_is_known_and_guarded():
    assert set(hook_points()) == set(HOOK_POINTS)
    files = {place.file for place in PLACES}
    by = {by for by in HOOK_POINTS.values() if by.endswith(".py")}
    assert by <= files


# Where the guard for each step is used by its name.
QUICKLY_GUARDED = (
    "batches",
    "eager_losses",
    "gradients",
    "loop",
    "plain_data",
    "tapes",
    "watch",
)


@pytest.fixture(scope="module")
def training():
    """What each scenario returns when nothing fails, and the places it passes by."""
    pytest.importorskip("keras")
    return Training()


class Training:
    def __init__(self) -> None:
        from tests.recording.faults import sabotage, scenarios

        loops = "tb_health_plugin.recording.loops"
        self._modules = [
            importlib.import_module(f"{loops}.{name}") for name in QUICKLY_GUARDED
        ]
        self._sabotaged = sabotage.sabotaged
        self._forget_models = scenarios.forget_models
        self._scenarios = scenarios.SCENARIOS
        self._numbers = itertools.count()
        self._usual: dict[Any, Any] = {}
        self._passes: dict[Any, set[Guarded]] = {}

    def passing(self, place: Guarded, folder: Path, monkeypatch: Any) -> Any:
        """The first scenario that passes by a place; None if there is none."""
        for scenario in self._scenarios:
            if scenario not in self._usual:
                with self._sabotaged(monkeypatch, self._modules) as faults:
                    self._usual[scenario] = self._run(scenario, folder, monkeypatch)
                self._passes[scenario] = faults.passed
            if place in self._passes[scenario]:
                return scenario
        return None

    def fails(self, scenario: Any, places: list[Guarded], folder: Path, patch: Any):
        """Runs it with faults at these places."""
        with self._sabotaged(patch, self._modules, *places) as faults:
            told = self._run(scenario, folder, patch)
        usual = self._usual[scenario]
        if places[-1].function in TAKES_AWAY:
            self._forget_models()
            self._usual.clear()
        return told, usual, faults.failed

    def _run(self, scenario: Any, folder: Path, monkeypatch: Any) -> Any:
        with monkeypatch.context() as patch:
            patch.setattr(attempts, "_attempts", {})
            patch.setattr(process_end, "_listeners", [])
            patch.setattr(process_end, "_seen", None)
            from tb_health_plugin.recording import optimizer_pickup
            from tb_health_plugin.recording.fitting import allowance
            from tb_health_plugin.recording.loops.loop import Loop

            patch.setattr(optimizer_pickup, "PERIOD_SECONDS", 0.02)
            patch.setattr(allowance, "FIXED_SECONDS", 1000.0)
            logdir = folder / str(next(self._numbers)) / "logs"
            logdir.parent.mkdir()
            try:
                return scenario(logdir)
            finally:
                for attempt in attempts._attempts.values():
                    # A loop that is left open would see what the next scenario does.
                    for left in [one for one in attempt.open if isinstance(one, Loop)]:
                        left.end()
                    attempt.release()


@pytest.mark.live
# Keras' own way to save a variable, as numpy 2 sees it.
@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
@pytest.mark.parametrize("place", PLACES, ids=str)
def test_a_fault_stays_where_it_is(
    training, place: Guarded, tmp_path: Path, monkeypatch, caplog
):
    # What an earlier test left in this process is not of this training.
    others = set(threading.enumerate())
    scenario = training.passing(place_before(place), tmp_path, monkeypatch)
    assert scenario is not None, "no scenario passes by: add one to scenarios.py"
    caplog.clear()
    armed = list(dict.fromkeys([place_before(place), place]))

    told, usual, failed = training.fails(scenario, armed, tmp_path, monkeypatch)

    assert failed == armed
    assert is_alike(told, usual, place)
    said = [one.getMessage() for one in caplog.records if "on purpose" in one.message]
    assert len(said) == 1, said
    assert said[0].endswith("(Sabotage: on purpose). The training goes on.")
    wait_until(lambda: not threads_of_ours(others))


def place_before(place: Guarded) -> Guarded:
    """The place that has to fail first, so that this one is reached."""
    first = ONLY_AFTER.get((place.file, place.function))
    found = (one for one in PLACES if (one.file, one.function) == first)
    return next(found, place)


def is_alike(told: Any, usual: Any, place: Guarded) -> bool:
    if place.function in TAKES_AWAY and isinstance(told, tuple):
        # What stays on the model then only passes on.
        return told[:2] == usual[:2]
    return told == usual


def threads_of_ours(others: set[threading.Thread]) -> list[str]:
    names = [one.name for one in threading.enumerate() if one not in others]
    ours = [name for name in names if name.startswith("training-health")]
    # This one ends with its process, which reads the end of the run first.
    return [name for name in ours if name != "training-health-reactions"]
