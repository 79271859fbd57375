"""The input ended, or epochs (validation too) were short or empty.

**What it means.** Keras ends an epoch without an error when its data ends. The next
epoch begins with whatever is left: a generator that is used up gives nothing more, so
that a training of 50 epochs may have trained in the first two alone.

**How we know.** The steps of each epoch are counted and compared with the plan; without
a plan, with the first epoch. The same for the batches of each validation. Epochs that a
callback cut are left out.

**What it is mistaken for.** A training that has converged: nothing changes any more.

**What to do.** Let the data begin again (`repeat()`, `while True`), or plan as many
steps as it has.
"""

from tb_health_plugin.diagnosis import exhausted
from tb_health_plugin.diagnosis.case import Case
from tb_health_plugin.diagnosis.rule import Rule
from tb_health_plugin.diagnosis.verdict import Verdict


def judge(case: Case) -> Verdict | None:
    told = case.story.verdict
    if told is not None and told.id == "data_exhausted":
        # The end itself says more.
        return None
    return exhausted.verdict(case.attempt)


RULE = Rule(id="data_exhausted", judge=judge)
