"""What Python, TensorFlow and the program said went wrong, wherever it was written."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tb_health_plugin.diagnosis.case import Case
from tb_health_plugin.diagnosis.verdict import Moment
from tb_health_plugin.events import facts

# A sentence that is quoted is cut after so many characters.
_LONGEST_QUOTE = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Something that was said.

    Attributes:
        text: All of it: message and traceback.
        at: When.
        ended_it: It is what ended the program, or the process.
        raised: It is an exception; else a warning or a line of the output.
        exception: Class of the exception.
        callback: Class of the callback it struck in.
        place: File and line, where known.
    """

    text: str
    at: Moment
    ended_it: bool = False
    raised: bool = False
    exception: str | None = None
    callback: str | None = None
    file: str | None = None
    line: int | None = None

    @property
    def place(self) -> dict[str, str | int]:
        found: dict[str, str | int] = {}
        if self.callback:
            found["callback"] = self.callback
        if self.file and self.line:
            found |= {"file": self.file, "line": self.line}
        return found

    def quote(self, pattern: str) -> str:
        """The line of the text that matches, cut to a readable length."""
        for line in self.text.splitlines():
            if re.search(pattern, line, re.IGNORECASE):
                words = " ".join(line.split())
                cut = len(words) > _LONGEST_QUOTE
                return f"{words[:_LONGEST_QUOTE]}…" if cut else words
        return ""


def find(case: Case, pattern: str) -> Report | None:
    """The report whose text matches: what ended the run before what did not."""
    for report in reports(case):
        if re.search(pattern, report.text, re.IGNORECASE):
            return report
    return None


def reports(case: Case) -> Iterator[Report]:
    """All reports: the end of the program, of trainings, then all else in order."""
    attempt = case.attempt
    for end in attempt.all(facts.RunEnded):
        if end.exception or end.message or end.text:
            yield _raised(end, ended_it=end.reason == "exception")
    for training in attempt.all(facts.TrainingEnded):
        if training.exception or training.message or training.text:
            yield _raised(training, ended_it=False)
    for seen in attempt.all(facts.ProcessEnded):
        if seen.output_tail:
            at = Moment(step=seen.step, wall_time=seen.wall_time)
            died = seen.signal is not None
            yield Report(text=seen.output_tail, at=at, ended_it=died)
    for said in attempt.all(facts.ProgramSaid):
        at = Moment(step=said.step, wall_time=said.wall_time)
        yield Report(text=said.message or "", at=at, file=said.file, line=said.line)
    for incident in attempt.all(facts.Incident):
        at = Moment(step=incident.step, wall_time=incident.wall_time)
        text = f"{incident.message or ''}\n{incident.text or ''}"
        yield Report(text=text, at=at, file=incident.file, line=incident.line)


def _raised(end: facts.RunEnded | facts.TrainingEnded, *, ended_it: bool) -> Report:
    head = f"{end.exception or ''}: {end.message or ''}"
    return Report(
        text=f"{head}\n{end.text or ''}",
        at=Moment(step=end.step, wall_time=end.wall_time),
        ended_it=ended_it,
        raised=True,
        exception=end.exception,
        callback=end.callback,
        file=end.file,
        line=end.line,
    )
