"""How a loop was left, in the words of `TrainingEnded`."""

from typing import Any

from tb_health_plugin.recording.attempts import LeftBy
from tb_health_plugin.recording.process_end import ProcessEnd
from tb_health_plugin.recording.traces import ErrorWords, Place, words_of


def left_by(error: BaseException, during: str) -> LeftBy:
    """An exception that passes through the end of the loop."""
    left = LeftBy(
        error_id=id(error), words=words_of(error, error.__traceback__), during=during
    )
    if isinstance(error, SystemExit):
        # Hardly anybody catches it.
        left.ends_process = True
        left.exit_code = _exit_code(error)
    return left


def left_with(end: ProcessEnd, during: str) -> LeftBy | None:
    """An exception that ended the process, and the loop with it; None if none did."""
    if end.error_id is None:
        return None
    place = Place(end.file, end.line, end.function or "") if end.file else None
    words = ErrorWords(
        exception=end.exception or "",
        message=end.message or "",
        text=end.text or "",
        place=place,
    )
    return LeftBy(error_id=end.error_id, words=words, during=during)


def told(left: LeftBy | None) -> dict[str, Any]:
    """Keyword arguments for `facts.TrainingEnded`."""
    if left is None:
        return {"reason": "returned"}
    place = left.words.place
    return {
        "reason": "raised",
        "exception": left.words.exception,
        "message": left.words.message,
        "text": left.words.text,
        "file": place.file if place else None,
        "line": place.line if place else None,
        "function": place.function if place else None,
        "during": left.during,
    }


def _exit_code(error: SystemExit) -> int:
    if error.code is None:
        return 0
    return error.code if isinstance(error.code, int) else 1
