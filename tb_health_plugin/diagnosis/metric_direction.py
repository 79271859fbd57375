"""Whether a metric is better when it is higher or when it is lower, by its name."""

import re
from typing import Literal

Direction = Literal["min", "max"]

# Words of a name, as they are joined by underscores.
_HIGHER = re.compile(
    r"(?:^|_)(?:acc|accuracy|auc|aucroc|auroc|precision|recall|f1|f1score|fbeta|fscore"
    r"|iou|miou|dice|jaccard|r2|bleu|rouge|map|ndcg|mrr|psnr|ssim|kappa|hits|topk"
    r"|specificity|sensitivity|reward|return)(?:_|\d|$)"
)
_LOWER = re.compile(
    r"(?:^|_)(?:loss|error|mse|mae|rmse|msle|mape|crossentropy|perplexity|ppl|nll|wer"
    r"|cer|fid|elbo_loss|divergence|hinge|logcosh|deviance)(?:_|\d|$)"
)


def better(metric: str) -> Direction | None:
    """What is better; None if the name does not tell."""
    name = metric.lower().replace("-", "_").replace(" ", "_").removeprefix("val_")
    name = re.sub(r"(?:categorical|binary|sparse|top_k)_", "", name)
    higher, lower = bool(_HIGHER.search(name)), bool(_LOWER.search(name))
    if higher == lower:
        # "dice_loss" is a loss; other names that say both say nothing.
        return "min" if name.endswith("loss") else None
    return "max" if higher else "min"
