"""Labels that are not what the loss can work with, as a verdict."""

from tb_health_plugin.diagnosis.case import Case, Training
from tb_health_plugin.diagnosis.verdict import (
    Confidence,
    Evidence,
    Fix,
    Moment,
    Severity,
    Verdict,
)

EXPLAINS = (
    "not_learning",
    "overfitting",
    "code_error",
    "input_error",
    "nan_op",
    "lr_too_high",
    "exploding_gradients",
    "wrong_output_loss",
    "undertrained",
    "no_gradient",
    "vanishing_gradients",
)


def verdict(
    case: Case,
    training: Training,
    *,
    detail: str,
    headline: str,
    chip: str,
    because: str,
    evidence: tuple[Evidence, ...],
    fixes: tuple[Fix, ...],
    severity: Severity = "critical",
    confidence: Confidence = "proven",
    at: Moment | None = None,
) -> Verdict:
    """One of them, with what all of them have in common."""
    return Verdict(
        id="label_problem",
        detail=detail,
        severity=severity,
        confidence=confidence,
        headline=headline,
        chip=chip,
        because=because,
        cause_at=at or first(training),
        stopped_at=case.stopped_at,
        place={"field": "y"},
        evidence=evidence,
        fixes=fixes,
        explains=EXPLAINS,
    )


def outcome(training: Training) -> tuple[Evidence, ...]:
    """What the run reported at its end."""
    if not training.epochs:
        return ()
    last = training.epochs[-1]
    shown = [
        f"{name} {value:.4g}"
        for name, value in last.metrics.items()
        if "loss" in name or "acc" in name
    ]
    if not shown:
        return ()
    text = f"The last epoch reported {', '.join(shown[:4])}."
    return (Evidence(text=text, strong=False, lane="loss", at=training.at(last)),)


def first(training: Training) -> Moment:
    """When the first labels were looked at."""
    return training.at(training.batches[0]) if training.batches else Moment()
