"""Does it tell rows apart? The area under a curve beside that of chance."""

import math
import re
import statistics

from tb_health_plugin.diagnosis.batches import Tensor, rows_per_epoch
from tb_health_plugin.diagnosis.case import Training, finite

# Area under a curve: 0.5 ranks by chance, and a curve of precision and recall reaches
# the share of the positive rows. Chance stays within so many standard errors of that;
# the least is for that share, which is known from some batches only.
RANKING_ERRORS = 4.0
LEAST_RANKING_MARGIN = 0.02
# How Keras and most programs name that area.
_RANKINGS = re.compile(r"(?:^|_)(?:auc|auroc|aucroc)(?:_|\d|$)", re.IGNORECASE)


def ranks(training: Training, target: Tensor | None) -> bool:
    """It tells rows apart: weak signals show here first, and rare classes only here."""
    if target is None or not 0 < target.mean < 1:
        return False
    rows = max(rows_per_epoch(training), 1.0)
    # Of the Mann-Whitney statistic, which the area under the ROC curve is.
    error = math.sqrt(1 / (12 * rows * target.mean * (1 - target.mean)))
    margin = max(LEAST_RANKING_MARGIN, RANKING_ERRORS * error)
    level = max(0.5, target.mean) + margin
    return any(
        _ends_above(training, name, level)
        # What was learned from the order of rows alone is gone when others are asked.
        and _ends_above(training, f"val_{name}", level - margin / 2, absent=True)
        for name in training.metric_names
        if _RANKINGS.search(name) and not name.startswith("val_")
    )


def _ends_above(
    training: Training, name: str, level: float, *, absent: bool = False
) -> bool:
    values = finite(training.metric(name))[-3:]
    return statistics.median(values) > level if values else absent
