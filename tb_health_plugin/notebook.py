"""`health.summary()`: the verdict in the cell of a notebook, or as text anywhere."""

import html
import io
import time
from collections.abc import Iterator

from rich.console import Console

from tb_health_plugin.cli.markdown import verdict_markdown
from tb_health_plugin.cli.why import show
from tb_health_plugin.diagnosing import NothingRecorded, diagnose
from tb_health_plugin.diagnosis.as_json import Answer

# A fit that returned is written down within a moment.
WRITTEN_WITHIN_SECONDS = 5.0
_LOOK_SECONDS = 0.1
_WIDTH = 88
_COLOURS = {"critical": "#b3261e", "warning": "#8a5a00", "info": "#1b6e3c"}
# Of its own, because a notebook may be light or dark.
_BOX = (
    "border-left: 4px solid {colour}; padding: 4px 12px; background: #fff; "
    "color: #1f1f1f; max-width: 60em"
)


class Summary:
    """What is said of a run. Notebooks show it, `print` prints it.

    Attributes:
        answer: The same for programs, as `verdict.schema.json` describes it; None if
            nothing was recorded.
    """

    def __init__(self, answer: Answer | None, instead: str = "") -> None:
        self.answer = answer
        self._instead = instead

    def __repr__(self) -> str:
        if self.answer is None:
            return self._instead
        out = io.StringIO()
        # In a notebook, rich would show what is meant for `out` as well.
        plain = Console(file=out, width=_WIDTH, highlight=False, force_jupyter=False)
        show(self.answer, plain)
        return out.getvalue().rstrip("\n")

    def _repr_markdown_(self) -> str:
        if self.answer is None:
            return self._instead
        return "\n".join(verdict_markdown(self.answer, "###"))

    def _repr_html_(self) -> str:
        if self.answer is None:
            return f"<p>{html.escape(self._instead)}</p>"
        return "".join(_html(self.answer))


def summarize(logdir: str, *, is_over: bool) -> Summary:
    """What is said of the run that is recorded there.

    Args:
        logdir: Directory of the run.
        is_over: No training is under way, so that what is written must not say so.
    """
    until = time.monotonic() + WRITTEN_WITHIN_SECONDS
    while True:
        try:
            answer = diagnose(logdir, ".")
            late = is_over and answer["state"] == "running"
        except (NothingRecorded, OSError) as error:
            answer, instead, late = None, f"Nothing to tell yet: {error}", True
        if not late or time.monotonic() > until:
            return Summary(answer) if answer else Summary(None, instead)
        time.sleep(_LOOK_SECONDS)


def _html(answer: Answer) -> Iterator[str]:
    verdict = answer["verdict"]
    escape = html.escape
    colour = _COLOURS[verdict["severity"]]
    yield f'<div style="{_BOX.format(colour=colour)}">'
    yield f'<b style="color: {colour}">{escape(verdict["headline"])}</b>'
    sure = f"{verdict['confidence']}: " if verdict["evidence"] else ""
    yield f"<p>{escape(sure + verdict['because'])}</p>"
    if verdict["evidence"]:
        items = (f"<li>{escape(one['text'])}</li>" for one in verdict["evidence"])
        yield f"<b>How we know</b><ul>{''.join(items)}</ul>"
    if verdict["fixes"]:
        yield "<b>What to do</b><ul>"
        for fix in verdict["fixes"]:
            code = f"<pre>{escape(fix['code'])}</pre>" if fix["code"] else ""
            yield f"<li>{escape(fix['title'])}. {escape(fix['why'])}{code}</li>"
        yield "</ul>"
    yield "</div>"
