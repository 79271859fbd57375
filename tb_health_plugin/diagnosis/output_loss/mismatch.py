"""A last layer and a loss that do not belong together, as a verdict."""

from tb_health_plugin.diagnosis.case import Case, Training, finite
from tb_health_plugin.diagnosis.heads import Head
from tb_health_plugin.diagnosis.learning import accuracy_name
from tb_health_plugin.diagnosis.verdict import (
    Confidence,
    Evidence,
    Fix,
    Severity,
    Verdict,
)

EXPLAINS = (
    "not_learning",
    "no_gradient",
    "vanishing_gradients",
    "lr_too_low",
    "lr_too_high",
    "dead_relu",
    "nan_op",
    "exploding_gradients",
    "over_regularised",
    "undertrained",
    "weights_not_updated",
    "unscaled_data",
)


def verdict(
    case: Case,
    training: Training,
    head: Head,
    *,
    detail: str,
    headline: str,
    because: str,
    evidence: tuple[Evidence, ...],
    fixes: tuple[Fix, ...],
    severity: Severity,
    confidence: Confidence = "proven",
) -> Verdict:
    """One of them, with what all of them have in common."""
    return Verdict(
        id="wrong_output_loss",
        detail=detail,
        severity=severity,
        confidence=confidence,
        headline=headline,
        chip="Wrong loss",
        because=because,
        cause_at=training.at(training.started, training.started.initial_epoch or 0),
        stopped_at=case.stopped_at,
        place={"layer": head.layer.name},
        evidence=evidence,
        fixes=fixes,
        explains=EXPLAINS,
    )


def same_accuracy(training: Training) -> Evidence | None:
    """An accuracy that never moved."""
    name = accuracy_name(training)
    values = training.metric(name) if name else []
    if len(values) < 2 or len(set(values)) != 1:
        return None
    text = f"{name} was the same in all {len(values)} epochs: {values[0]:.4f}."
    return Evidence(text=text, at=training.at(training.epochs[-1]))


def outcome(training: Training) -> list[Evidence]:
    """The accuracy at the end."""
    name = accuracy_name(training)
    values = finite(training.metric(name)) if name else []
    if not values:
        return []
    text = f"{name} ended at {values[-1]:.3g} after {len(values)} epochs."
    return [Evidence(text=text, strong=False)]
