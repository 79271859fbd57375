"""Saving the model failed, for another reason than room."""

import re
import shlex

from tb_health_plugin.diagnosis.ending import Ending
from tb_health_plugin.diagnosis.exceptions.code import (
    REFUSED_MONITOR,
    metrics,
    nearest,
)
from tb_health_plugin.diagnosis.exceptions.debugging import code_there
from tb_health_plugin.diagnosis.exceptions.failure import failure
from tb_health_plugin.diagnosis.exceptions.raised import Raised
from tb_health_plugin.diagnosis.figures import names
from tb_health_plugin.diagnosis.verdict import Evidence, Fix
from tb_health_plugin.events import facts

_SAVES = (
    r"/callbacks/(?:model_checkpoint|backup_and_restore|orbax_checkpoint|swap_ema)\.py"
    r"|/saving/\w+\.py:_?(?:save|write|serialize)\w*$|/saving/saving_lib\.py:_?save"
    r"|/saved_model/save\.py|/checkpoint/\w+\.py:(?:save|write)$"
    r"|keras/.*:(?:save|save_weights|save_model|export)$"
)
_LOADS = r":(?:load_weights|load_model|_?load_state|restore)$"
_CALLBACKS = ("ModelCheckpoint", "BackupAndRestore", "OrbaxCheckpoint")
_NAME = r"must end in|Invalid filepath extension|extension"
_DENIED = (
    r"Permission denied|\[Errno 13\]|\[Errno 1\]|Read-only file system|\[Errno 30\]"
)
_NO_DIRECTORY = r"\[Errno 20\]|Not a directory"
_ABSENT = r"No such file or directory|\[Errno 2\]"
_BIG = r"\[Errno 27\]|File too large"
_PLAIN = (
    r"not JSON serializable|cannot pickle|can't pickle|Unable to serialize|get_config"
    r"|not serializable|object header message is too large|name already exists"
)


def failed(raised: Raised) -> Ending | None:
    """Saving raised; None if this is something else."""
    saves = raised.passes(_SAVES) or raised.callback in _CALLBACKS
    if re.search(REFUSED_MONITOR, raised.message):
        # It was not asked to save yet: its settings are wrong.
        return None
    if not saves or raised.passes(_LOADS):
        return None
    detail, fix = _kind(raised)
    by = f"{raised.callback} could not save" if raised.callback else "Saving failed"
    return failure(
        raised,
        id="checkpoint_failure",
        detail=detail,
        headline=f"{by} {raised.where}"
        if not raised.callback
        else f"{by} the model {raised.where}",
        because="The exception came out of the code that saves.",
        evidence=(*raised.evidence(), *_saved(raised)),
        fixes=(fix,),
        chip="Saving failed",
    )


def _kind(raised: Raised) -> tuple[str, Fix]:
    said = f"It said: {raised.in_short}"
    path = re.search(r"['\"](/[^'\"\n]+)['\"]", raised.whole)
    where = path[1] if path else "the path"
    if raised.find(_DENIED) or raised.is_a("PermissionError", "PermissionDeniedError"):
        return "permission", Fix(
            title=f"Allow writing to {where}",
            why=said,
            code=f"id && namei -l {shlex.quote(path[1])}" if path else None,
        )
    if raised.find(_NO_DIRECTORY) or raised.is_a("NotADirectoryError"):
        return "not_a_directory", Fix(
            title=f"Save elsewhere, or move away the file in the way of {where}",
            why=f"A part of that path is a file, not a directory. {said}",
            code=f"namei -l {shlex.quote(path[1])}" if path else None,
        )
    if raised.find(_ABSENT) or raised.is_a("FileNotFoundError"):
        return "missing_directory", Fix(
            title="Make the directory before the training begins",
            why=said,
            code=_make_directory(path[1]) if path else None,
        )
    if raised.find(_BIG):
        return "too_large", Fix(
            title="Raise the limit on the size of files",
            why=said,
            code="ulimit -f unlimited",
        )
    if raised.find(_NAME):
        return "name", Fix(
            title="End the name in .keras, or .weights.h5 for weights alone",
            why=said,
            code='model.save("model.keras")',
        )
    if raised.find(_PLAIN):
        return "unserialisable", Fix(
            title="Save only the weights, or teach the object to describe itself",
            why=said,
            code="save_weights_only=True",
        )
    if raised.is_a("KeyError"):
        return "name", _metric_in_name(raised, said)
    fix = Fix(title="Read the traceback below", why=said, code=code_there(raised))
    return "raised", fix


def _metric_in_name(raised: Raised, said: str) -> Fix:
    """A name of a file with a metric that the logs have."""
    found, asked = metrics(raised), raised.message.strip("'\"")
    metric = f"-{{{nearest(asked, found)}:.3f}}" if found else ""
    have = f" They have {names(found, 6)}." if found else ""
    return Fix(
        title="Use a metric in the name that the logs have",
        why=f"{said.rstrip('.')}.{have}",
        code=f'keras.callbacks.ModelCheckpoint("model-{{epoch:02d}}{metric}.keras")',
    )


def _make_directory(path: str) -> str:
    """What makes the directory of a file, or the directory that was named itself."""
    folder, _, name = path.rpartition("/")
    return f'os.makedirs("{folder if folder and "." in name else path}", exist_ok=True)'


def _saved(raised: Raised) -> tuple[Evidence, ...]:
    done = [one for one in raised.attempt.all(facts.Saved) if one.ok]
    if not done:
        text = "Nothing had been saved before."
    else:
        last = done[-1]
        text = f"The last one that was saved is of step {last.step:,} ({last.path})."
    return (Evidence(text=text, strong=False, at=raised.at),)
