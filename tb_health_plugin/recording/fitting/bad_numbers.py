"""Finds the step and the place where the first NaN or infinity of a training began.

The steps before it are run again from a kept state of the model, each under close
inspection, until one goes bad. Then the model is put back as it was.
"""

import contextlib
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import tensorflow as tf

from tb_health_plugin.events import facts
from tb_health_plugin.recording.fitting.bad_place import Place, place_in
from tb_health_plugin.recording.fitting.batch_fields import fields_of, input_scale
from tb_health_plugin.recording.fitting.fit import Fit
from tb_health_plugin.recording.fitting.inspection import Inspection
from tb_health_plugin.recording.fitting.look import Look
from tb_health_plugin.recording.fitting.model_state import bytes_in, plain
from tb_health_plugin.recording.fitting.observation import Observation
from tb_health_plugin.recording.fitting.probes import scales_loss
from tb_health_plugin.recording.fitting.recent_steps import RecentSteps, Seen, State
from tb_health_plugin.recording.fitting.replay import is_standard

WHAT = "where a bad number began"
_WHAT_OP = "the operation that a bad number began in"
# Where it is an operation that made it, not a number that was there before.
_BY_AN_OPERATION = ("layer", "loss", "gradient")
# So many steps before the bad one are told about.
_TOLD_STEPS = 32
# Of the steps that are run again, so many are looked at; the others were long before.
_CLOSE_STEPS = 64
# Weights of this size are looked through in some hundredths of a second.
_MOST_CHECKED_BYTES = 64 << 20
# So many batches before the bad one say what is usual.
_USUAL_BATCHES = 8


@dataclass(slots=True)
class _Found:
    """The answer as it grows."""

    bad_step: int
    place: Place
    exact: bool = False
    reproduced: bool | None = None
    how: str = ""
    op: str | None = None
    before: list[tuple[int, float, float]] = field(default_factory=list)


class BadNumbers:
    """Searches once per training.

    Args:
        fit: The training.
        inspection: Looks at steps.
        recent: The last steps.
        run: Runs the program's own training step on a batch.
    """

    def __init__(
        self,
        fit: Fit,
        inspection: Inspection,
        recent: RecentSteps,
        run: Callable[[Any], Any],
    ) -> None:
        self._fit = fit
        self._inspection = inspection
        self._recent = recent
        self._run = run
        self._scales_loss = scales_loss(fit.model)
        # Places that give out infinities while all is well: masks do.
        self._usually_bad: set[int] = set()
        self._looks: list[tuple[int, float, float]] = []
        self.is_done = False

    def saw(self, seen: Seen, look: Look, spec: Any) -> None:
        """A step was looked at, before its loss was reported."""
        bad = self._bad(look)
        if bad is None:
            self._was_good(seen, look)
        elif bad == "weight":
            self.search(seen.step, spec, seen_in=bad)
        else:
            known = _Found(seen.step, self._place(look, seen.batch), exact=True)
            known.how = "the step was being looked at when it happened"
            self.search(seen.step, spec, seen_in=bad, known=known)

    def search(
        self,
        step: int,
        spec: Any,
        *,
        seen_in: str = "loss",
        known: _Found | None = None,
    ) -> None:
        """Looks for what made `step` bad; afterwards the model is as it was.

        Args:
            step: Steps of the attempt finished before it.
            spec: Types of what steps are given.
            seen_in: Where the bad number was noticed.
            known: The answer, if only the steps before are not known yet.
        """
        if self.is_done:
            return
        self.is_done = True
        began = time.perf_counter()
        with self._fit.guard.protect(WHAT):
            found = self._search(step, spec)
            if known is not None and not found.exact:
                found = known
            self._tell(found, self._recent.batch_of(found.bad_step), seen_in=seen_in)
        self._fit.spent.recording_seconds += time.perf_counter() - began

    def check_weights(self, step: int, spec: Any) -> None:
        """The training ended after `step`: weights may be bad though the loss is not.

        An activation can hide them: the larger of NaN and 0 may be 0.
        """
        variables = self._fit.model.trainable_variables
        values = plain(variables, self._fit.model.distribute_strategy)
        is_quick = bytes_in(values) <= _MOST_CHECKED_BYTES
        if not self.is_done and is_quick and self._bad_variables():
            self.search(step, spec, seen_in="weight")

    def _search(self, step: int, spec: Any) -> _Found:
        why = self._why_not_run_again()
        if why is not None:
            return self._without_state(step, spec, why)
        why = self._recent.why_no_state()
        for state, batches in self._recent.leading_to(step):
            with self._model_put_back():
                state.kept.put_back()
                if state.is_whole:
                    found = self._run_again(state, batches, spec)
                else:
                    found = self._first_step(batches[0], spec)
            if found is None:
                why = "running the steps before it again gave only good numbers"
            elif found.place.began_in != "weights":
                return found
            else:
                why = "the weights were bad before the oldest step that is kept"
        return self._without_state(step, spec, why)

    def _why_not_run_again(self) -> str | None:
        if not self._inspection.is_possible:
            return "a step of this model cannot be run twice"
        if self._inspection.is_eager and not is_standard(self._fit.model):
            return "the model runs its own training step eagerly"
        return None

    def _first_step(self, seen: Seen, spec: Any) -> _Found | None:
        """The very first step, before which there is only half a state."""
        how = "the first step was looked at again"
        look = self._look_and_step(seen.batch, spec)
        if self._bad(look) is not None:
            place = self._place(look, seen.batch)
            return _Found(seen.step, place, exact=True, how=how)
        self._was_good(seen, look)
        after = self._recent.state_before(seen.step + 1)
        if after is None:
            return None
        after.kept.put_back()
        bad_update = self._bad_update()
        if bad_update is None:
            return None
        return _Found(seen.step, bad_update, exact=True, how=how)

    def _run_again(self, state: State, batches: list[Seen], spec: Any) -> _Found | None:
        """Runs steps until one goes bad."""
        before: list[tuple[int, float, float]] = []
        op: str | None = None
        far = batches[:-_CLOSE_STEPS]
        for seen in far:
            self._run(seen.batch)
        if far and self._bad_variables():
            # It began among those: once more, with a look at each.
            state.kept.put_back()
            far = []
        for seen in batches[len(far) :]:
            look = self._look_and_step(seen.batch, spec)
            place: Place | None = None
            if self._bad(look) is not None:
                place = self._place(look, seen.batch)
                op = self._operation(state, batches, seen, place)
            else:
                self._usually_bad.update(look.bad_outputs())
                place = self._bad_update()
            if place is not None:
                return _Found(
                    seen.step,
                    place,
                    exact=True,
                    how=_how_many(len(far) + len(before) + 1),
                    before=before,
                    op=op,
                )
            before.append((seen.step, _number(look.loss), look.gradient_norm))
        return None

    def _operation(
        self, state: State, batches: list[Seen], bad: Seen, place: Place
    ) -> str | None:
        """The operation that it began in; the steps before it run once more for that.

        After it the model is no longer as it was.
        """
        if place.began_in not in _BY_AN_OPERATION:
            return None
        with self._fit.guard.protect(_WHAT_OP):
            state.kept.put_back()
            good = None
            for seen in batches[: batches.index(bad)]:
                good = seen.batch
                self._run(good)
            return self._inspection.replay.bad_operation(
                good, bad.batch, is_eager=self._inspection.is_eager
            )
        return None  # something of ours failed

    def _look_and_step(self, batch: Any, spec: Any) -> Look:
        inspection = self._inspection
        if inspection.is_eager:
            observation = Observation(inspection.probes)
            try:
                observation.begin()
                return observation.finish(self._run(batch))
            finally:
                observation.abandon()
        look = inspection.look(batch, spec)
        self._run(batch)
        return look

    def _without_state(self, step: int, spec: Any, why: str) -> _Found:
        """What the batch alone tells, or together with the weights as they are."""
        seen = self._recent.batch_of(step)
        if seen is None:
            place = Place(
                "unknown", value="", bad_variables=tuple(self._bad_variables())
            )
            return _Found(step, place, how=f"{why}, and its batch is not kept")
        bad_field = self._bad_field(seen.batch)
        if bad_field is not None:
            role = "target" if bad_field.role == "target" else "input"
            place = Place(role, name=bad_field.name, row=bad_field.bad_row)
            return _Found(step, place, how=f"the batch has it; {why}")
        found = _Found(step, Place("unknown", value=""), how=why)
        bad_now = self._bad_variables()
        if bad_now:
            found.place = Place(
                "weights", name=bad_now[0], bad_variables=tuple(bad_now)
            )
            found.how += ", and by now the weights are bad"
        if bad_now or self._inspection.is_eager or not self._inspection.is_possible:
            return found
        look = self._inspection.look(seen.batch, spec)
        found.reproduced = self._bad(look) is not None
        if found.reproduced:
            found.place = self._place(look, seen.batch)
            found.how += "; the batch was looked at with the weights after that step"
        return found

    def _was_good(self, seen: Seen, look: Look) -> None:
        self._usually_bad.update(look.bad_outputs())
        self._looks.append((seen.step, _number(look.loss), look.gradient_norm))
        del self._looks[:-_TOLD_STEPS]

    def _bad(self, look: Look) -> str | None:
        """Where a look shows a bad number: "weight", "loss" or "gradient"."""
        if look.bad_weights():
            return "weight"
        if look.is_loss_bad():
            return "loss"
        # Steps with gradients too large are left out, and the loss is scaled less.
        if look.bad_gradients() and not self._scales_loss:
            return "gradient"
        return None

    def _place(self, look: Look, batch: Any) -> Place:
        place = place_in(look, self._inspection.probes, self._usually_bad)
        bad = None if place.began_in == "weights" else self._bad_field(batch)
        # A bad target does not reach a layer, only the loss and the gradients.
        if bad is None or (bad.role != "input" and place.began_in == "layer"):
            return place
        role = "input" if bad.role == "input" else "target"
        return replace(place, began_in=role, name=bad.name, kind=None, row=bad.bad_row)

    def _bad_field(self, batch: Any) -> facts.Field | None:
        """A tensor of the batch with a bad number that others do not have there."""
        usual: set[str | None] = set()
        for seen in self._recent.batches()[:_USUAL_BATCHES]:
            if seen.batch is batch:
                break
            usual |= {one.name for one in fields_of(seen.batch) if one.nonfinite_count}
        for one in fields_of(batch):
            if one.nonfinite_count and one.name not in usual:
                return one
        return None

    def _bad_update(self) -> Place | None:
        """All was well before the step; are the weights after it?"""
        bad = self._bad_variables()
        if not bad:
            return None
        variables = self._fit.model.trainable_variables
        values = [one.value for one in variables if one.path == bad[0]]
        is_nan = any(bool(tf.reduce_any(tf.math.is_nan(value))) for value in values)
        return Place(
            "update",
            name=bad[0],
            value="nan" if is_nan else "inf",
            bad_variables=tuple(bad),
        )

    def _bad_variables(self) -> list[str]:
        return [
            variable.path
            for variable in self._fit.model.trainable_variables
            if not bool(tf.reduce_all(tf.math.is_finite(variable.value)))
        ]

    @contextlib.contextmanager
    def _model_put_back(self) -> Iterator[None]:
        present = self._recent.present()
        try:
            yield
        finally:
            present.put_back()

    def _tell(self, found: _Found, seen: Seen | None, *, seen_in: str) -> None:
        self.is_done = True
        first = found.before[0][0] if found.before else found.bad_step
        before = [one for one in self._looks if one[0] < first] + found.before
        before = before[-_TOLD_STEPS:]
        place = found.place
        fields = () if seen is None else fields_of(seen.batch)
        self._fit.recorder.record(
            facts.FirstBadNumber(
                wall_time=time.time(),
                step=self._fit.recorder.progress.step,
                training=self._fit.training,
                epoch=self._fit.epoch if seen is None else seen.epoch,
                bad_step=found.bad_step,
                seen_in=seen_in,
                value=place.value or None,
                began_in=place.began_in,
                name=place.name,
                kind=place.kind,
                row=place.row,
                op=found.op,
                how=found.how,
                exact=found.exact,
                reproduced=found.reproduced,
                bad_layers=place.bad_layers,
                bad_variables=place.bad_variables,
                steps_before=tuple(one[0] for one in before),
                losses_before=tuple(one[1] for one in before),
                gradient_norms_before=tuple(one[2] for one in before),
                input_scale=input_scale(fields),
                usual_input_scale=self._usual_input_scale(found.bad_step),
                fields=fields,
            )
        )
        self._recent.stop()

    def _usual_input_scale(self, bad_step: int) -> float | None:
        before = [one for one in self._recent.batches() if one.step < bad_step]
        scales = []
        for seen in before[-_USUAL_BATCHES:]:
            scale = input_scale(fields_of(seen.batch))
            if scale is not None:
                scales.append(scale)
        return float(np.median(scales)) if scales else None


def _how_many(steps: int) -> str:
    if steps == 1:
        return "that step was run again"
    return f"that step and the {steps - 1} before it were run again"


def _number(loss: float | None) -> float:
    return math.nan if loss is None else loss
