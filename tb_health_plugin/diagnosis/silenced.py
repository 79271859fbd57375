"""What must not look well only because rules were silenced."""

from collections.abc import Sequence

from tb_health_plugin.diagnosis.bad_numbers import first_bad
from tb_health_plugin.diagnosis.case import Case
from tb_health_plugin.diagnosis.verdict import Evidence, Fix, Silenced, Verdict


def lost_loss(
    case: Case, silenced: Sequence[Silenced], found: Sequence[Verdict]
) -> Verdict | None:
    """The loss became NaN and stayed so, and whoever says why was not asked."""
    if not silenced or any(one.severity == "critical" for one in found):
        return None
    bad = first_bad(case)
    if bad is None or not bad.lasting:
        return None
    at = "" if bad.step is None else f" at step {bad.step:,}"
    names = ", ".join(one.rule for one in silenced)
    return Verdict(
        id="unknown",
        detail="silenced",
        severity="critical",
        confidence="proven",
        headline=f"The loss became {bad.word}{at}; rules that may say why are silenced",
        because="That number was recorded. Silenced rules are not asked.",
        cause_at=bad.at,
        stopped_at=case.stopped_at,
        evidence=(Evidence(text=f"Silenced: {names}.", lane="loss", at=bad.at),),
        fixes=(
            Fix(
                title="Ask them, too",
                why="What is silenced by the run itself can be asked by its reader.",
                code=f"tb-health why --rules {silenced[0].rule}=on",
            ),
        ),
        chip=f"Loss {bad.word}",
    )
