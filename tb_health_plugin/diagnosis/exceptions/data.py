"""The data pipeline raised, or had nothing more to give."""

import re
import shlex

from tb_health_plugin.diagnosis import data_alone
from tb_health_plugin.diagnosis.ending import Ending
from tb_health_plugin.diagnosis.exceptions.failure import failure
from tb_health_plugin.diagnosis.exceptions.raised import Raised, said_in
from tb_health_plugin.diagnosis.exhausted import EMPTY
from tb_health_plugin.diagnosis.figures import cut
from tb_health_plugin.diagnosis.verdict import Evidence, Fix

_ENDED_CLASSES = ("OutOfRangeError", "StopIteration", "StopAsyncIteration")
_ENDED = (
    r"End of sequence|generator raised StopIteration"
    r"|generator must yield at least one batch|The PyDataset has length 0"
    r"|non-empty array or dataset|resulted in an empty dataset"
    r"|Received an empty generator"
    r"|dataset is empty"
)
_CORRUPT = (
    r"truncated record|corrupted record|Checksum does not match|Invalid (?:PNG|JPEG)"
    r"|Unknown image file format|image file is truncated|cannot identify image file"
    r"|Error while reading record|unexpected end of|Not a gzipped file|bad zip"
    r"|Could not parse example|Input size should match|inflate\(\) failed"
)
_RECORDS = r"(?:truncated|corrupted|reading) record|Checksum does not match"
_IMAGES = r"Invalid (?:PNG|JPEG)|Unknown image file format"
_LONGEST_HEADLINE = 100
_BELOW = " That is below the directory in which the program was started."
_LONGEST_SAID = 160
# In quotes, or with a slash: as it was opened, which may be below another directory.
_FILE = r"['\"]([^'\"\n]+\.\w+)['\"]|(?<![^\s(=:;])([\w.~+-]*/[^\s;:'\"]+\.\w+)"


def ended(raised: Raised) -> Ending | None:
    """The input ended where a batch was asked for; None if this is something else."""
    is_end = raised.name in _ENDED_CLASSES or raised.find(_ENDED) is not None
    if not is_end or raised.in_callback:
        return None
    planned = raised.training.planned_steps_per_epoch if raised.training else None
    step = raised.at.step or 0
    of = f" of {planned:,} per epoch" if planned else ""
    return failure(
        raised,
        id="data_exhausted",
        detail=f"{step} of {planned} steps" if planned else f"{step} steps",
        headline=f"The input ended {raised.where}" if step else "The input is empty",
        because="A batch was asked for and there was none.",
        evidence=(
            *raised.evidence(),
            Evidence(
                text=f"{step:,} steps{of} had been done.", strong=False, at=raised.at
            ),
        ),
        fixes=(_again(step) if step else EMPTY,),
        chip="Ran out of data",
    )


def _again(step: int) -> Fix:
    return Fix(
        title="Let the data begin again, or plan as many steps as it has",
        why=f"It gave data for {step:,} steps. Repeated, rows come again within an "
        "epoch.",
        code="dataset = dataset.repeat()",
    )


def failed(raised: Raised) -> Ending | None:
    """The pipeline raised; None if it was not the pipeline."""
    if not raised.in_data:
        return None
    inner = raised.inner
    name = inner.name if inner else raised.name
    said = said_in(inner.message) if inner else raised.said
    detail, words = _kind(raised)
    line = raised.line_words if inner or not raised.from_tensorflow else ""
    at_line = f" at {line}" if line else ""
    path = _path(said)
    where = words.format(where=raised.where)
    headline = _headline(where, path if detail == "missing" and path else said)
    if detail == "raised" and (inner or not raised.from_tensorflow):
        headline = f"The data pipeline raised {name}{at_line}, {raised.where}"
    place = raised.place
    if path and detail != "raised":
        place["path"] = path
    return failure(
        raised,
        id="input_error",
        detail=detail,
        headline=headline,
        because="The exception came out of the data pipeline.",
        place=place,
        fixes=_fixes(raised, detail, said, path),
        chip="Input error",
    )


def _path(said: str) -> str | None:
    """The file that is spoken of."""
    found = re.search(_FILE, said)
    return (found[1] or found[2]) if found else None


def _kind(raised: Raised) -> tuple[str, str]:
    if raised.is_a("DataLossError") or raised.find(_CORRUPT):
        return "corrupt", "The data is damaged {where}"
    if raised.is_a("NotFoundError", "FileNotFoundError"):
        return "missing", "A file of the data is missing {where}"
    return "raised", "The data pipeline failed {where}"


def _headline(words: str, said: str) -> str:
    """With what was said, if there is room for it."""
    whole = f"{words}: {said.rstrip('.')}"
    return whole if len(whole) <= _LONGEST_HEADLINE else words


def _fixes(raised: Raised, detail: str, said: str, path: str | None) -> tuple[Fix, ...]:
    which = path or "the file"
    # Code of the program's own raised: it, not TensorFlow, read the record.
    is_own = raised.inner is not None and bool(raised.line_words)
    if detail == "corrupt" and (path or not is_own):
        return _again_or_without(raised, said, path)
    if detail == "missing":
        below = "" if path is None or path.startswith("/") else _BELOW
        return (
            Fix(
                title=f"See whether {which} is there",
                why=f"{_said(said)}{below}",
                code=f"namei -l {shlex.quote(path)}" if path else None,
            ),
        )
    line = raised.line_words or "the line in the traceback"
    return (
        Fix(
            title=f"Mend {line}, or the record it choked on",
            why=f"{_said(said)} Gone through like this, without a training, the data "
            "stops at the bad record.",
            code=data_alone.loop(raised.training.settings if raised.training else {}),
        ),
    )


def _again_or_without(raised: Raised, said: str, path: str | None) -> tuple[Fix, ...]:
    which, code = path or "the file", _compared(path) if path else _found(raised)
    last = " The last file that these lines name is the broken one."
    again = Fix(
        title=f"Get {which} again, and compare its size or checksum",
        why=_said(said) + (last if code and not path else ""),
        code=code,
    )
    # A generator is over once it has raised: what came after would be lost, too.
    if raised.inner or raised.setting("data.kind") not in (None, "tf.data"):
        return (again,)
    without = Fix(
        title="Skip what cannot be read, if losing it is all right",
        why="The run goes on, and the broken records are left out without a word: "
        "count them.",
        code="dataset = dataset.ignore_errors(log_warning=True)",
    )
    return again, without


def _said(said: str) -> str:
    text = cut(said, _LONGEST_SAID)
    return f"It said: {text}" if text.endswith((".", "…")) else f"It said: {text}."


def _compared(path: str) -> str:
    file = shlex.quote(path)
    return f"ls -l {file} && sha256sum {file}"


def _found(raised: Raised) -> str | None:
    """What finds the broken file among all; None if it is of an unknown kind."""
    if raised.find(_RECORDS):
        return (
            "for file in files:\n    print(file)\n"
            "    for record in tf.data.TFRecordDataset(file): pass"
        )
    if raised.find(_IMAGES):
        return (
            "for file in files:\n    print(file)\n"
            "    tf.io.decode_image(tf.io.read_file(file))"
        )
    return None
