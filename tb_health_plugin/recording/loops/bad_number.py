"""The first loss, gradient or weight that is not finite, and where that began."""

import math
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tb_health_plugin.events import facts
from tb_health_plugin.recording.fitting.batch_fields import fields_of
from tb_health_plugin.recording.fitting.fit import Fit
from tb_health_plugin.recording.loops.budget import (
    FREE_CHECK_SECONDS,
    PROBE_SHARE,
    Budget,
)
from tb_health_plugin.recording.loops.gradients import StepGradients
from tb_health_plugin.recording.loops.weights import Weights

WHAT = "the first bad number"
# Enough to see whether the loss grew before it was lost.
STEPS_KEPT = 32
# What a batch is called in a sentence.
_PART = {"input": "inputs", "target": "targets", "weight": "sample weights"}


@dataclass(slots=True, kw_only=True)
class StepSeen:
    """What is known of one step.

    Attributes:
        step: Its number in the attempt, counted from 0.
        loss: Its loss; None if the loop does not tell.
        gradients: What was seen of its gradients.
        batch: What it was given, if that came through us.
    """

    step: int
    loss: float | None
    gradients: StepGradients
    batch: Any = None


class BadNumbers:
    """Follows the steps of a loop until one of them goes bad."""

    def __init__(self, fit: Fit, weights: Weights) -> None:
        self._fit = fit
        self._weights = weights
        self._kept: deque[tuple[int, float, float]] = deque(maxlen=STEPS_KEPT)
        self._probes = Budget(PROBE_SHARE, free_seconds=FREE_CHECK_SECONDS)
        self._weights_fine_after: int | None = None
        self._is_found = False

    def saw(self, seen: StepSeen, now: float) -> None:
        """A step has ended, and its weights are updated."""
        if self._is_found:
            return
        fact = self._judge(seen, now)
        if fact is not None:
            self._is_found = True
            self._fit.nonfinite_at = seen.step
            self._fit.recorder.record(fact)
            return
        norm = seen.gradients.norm
        loss = math.nan if seen.loss is None else seen.loss
        self._kept.append((seen.step, loss, math.nan if norm is None else norm))

    def were_fine(self, first: int, losses: Sequence[float]) -> None:
        """Steps from `first` on had these losses, and nothing else is known of them."""
        for step, loss in enumerate(losses, first):
            self._kept.append((step, loss, math.nan))

    def _judge(self, seen: StepSeen, now: float) -> facts.FirstBadNumber | None:
        if seen.loss is not None and not math.isfinite(seen.loss):
            return self._in_loss(seen, seen.loss)
        if seen.gradients.bad:
            return self._in_gradient(seen)
        if not self._probes.allows(now):
            return None
        began = time.perf_counter()
        is_fine = self._weights.look_fine()
        self._probes.spent += time.perf_counter() - began
        if is_fine:
            self._weights_fine_after = seen.step
            return None
        return self._in_weights(seen)

    def _in_loss(self, seen: StepSeen, loss: float) -> facts.FirstBadNumber:
        fields = fields_of(seen.batch) if seen.batch is not None else ()
        value = "nan" if math.isnan(loss) else "inf"
        bad = [field for field in fields if field.nonfinite_count]
        if bad:
            first = bad[0]
            return self._fact(
                seen,
                seen_in="loss",
                value=value,
                began_in="target" if first.role == "target" else "input",
                name=first.name,
                row=first.bad_row,
                how=f"The {_PART[first.role]} of that batch hold "
                f"{first.nonfinite_count:,} numbers that are not finite.",
                exact=True,
                fields=fields,
            )
        before = seen.gradients.weights_were_bad
        if before:
            return self._fact(
                seen,
                seen_in="loss",
                value=value,
                began_in="weights",
                name=before[0],
                how="Weights were not finite before that step.",
                exact=True,
                bad_variables=tuple(before),
                fields=fields,
            )
        return self._fact(
            seen,
            seen_in="loss",
            value=value,
            began_in="unknown",
            how=self._what_was_fine(seen, bool(fields)),
            bad_variables=tuple(seen.gradients.bad),
            fields=fields,
        )

    def _what_was_fine(self, seen: StepSeen, has_batch: bool) -> str:
        fine = ["its batch"] if has_batch else []
        if seen.gradients.bad or self._weights_fine_after == seen.step - 1:
            fine.append("the weights before it")
        if not fine:
            return "The loss was the first number seen that is not finite."
        were = "were" if len(fine) > 1 or fine[0].startswith("the") else "was"
        return f"The loss of that step is not finite, {' and '.join(fine)} {were}."

    def _in_gradient(self, seen: StepSeen) -> facts.FirstBadNumber:
        before = seen.gradients.weights_were_bad
        return self._fact(
            seen,
            seen_in="gradient",
            value="nan",
            began_in="weights" if before else "gradient",
            name=(before or seen.gradients.bad)[0],
            how="Weights were not finite before that step."
            if before
            else "The gradients of that step are not finite, the weights before it "
            f"were{', and its loss is' if seen.loss is not None else ''}.",
            exact=True,
            bad_variables=tuple(seen.gradients.bad),
        )

    def _in_weights(self, seen: StepSeen) -> facts.FirstBadNumber:
        bad = self._weights.bad_ones()
        is_exact = self._weights_fine_after == seen.step - 1
        return self._fact(
            seen,
            seen_in="weight",
            value="nan",
            began_in="unknown",
            name=bad[0] if bad else None,
            how="After that step weights are not finite"
            f"{', before it they were' if is_exact else ''}: "
            "its gradients, or the update with them, were not.",
            exact=is_exact,
            bad_variables=tuple(bad),
        )

    def _fact(self, seen: StepSeen, **told: Any) -> facts.FirstBadNumber:
        steps, losses, norms = (
            zip(*self._kept, strict=True) if self._kept else ((), (), ())
        )
        return facts.FirstBadNumber(
            wall_time=time.time(),
            step=self._fit.recorder.progress.step,
            training=self._fit.training,
            epoch=self._fit.epoch,
            bad_step=seen.step,
            steps_before=tuple(steps),
            losses_before=tuple(losses),
            gradient_norms_before=tuple(norms),
            **told,
        )
