"""Everything worth a mark on the timeline, in the JSON of `http_api.md`."""

from collections.abc import Iterator

from tb_health_plugin.events import facts, python_stacks
from tb_health_plugin.reading.run_history import Attempt
from tb_health_plugin.server import payloads

# More marks than a timeline can show; the gravest are kept, then the newest.
MOST_INCIDENTS = 500
_RANKS = {"critical": 0, "warning": 1}


def incidents(attempts: list[Attempt]) -> list[payloads.IncidentPayload]:
    """Incidents, gaps in the recording and the end, in the order they happened."""
    found = [one for attempt in attempts for one in _incidents_of(attempt)]
    if len(found) > MOST_INCIDENTS:
        found.sort(key=lambda one: (_RANKS.get(one["severity"], 2), -one["wall_time"]))
        del found[MOST_INCIDENTS:]
    found.sort(key=lambda one: one["wall_time"])
    for index, one in enumerate(found):
        one["id"] = str(index)
        one["threads"] = threads_in(one["text"] or "")
    return found


def _incidents_of(attempt: Attempt) -> Iterator[payloads.IncidentPayload]:
    for incident in attempt.all(facts.Incident):
        yield {
            "id": "",
            "kind": incident.kind or "incident",
            "severity": incident.severity or "info",
            "message": incident.message or "",
            "step": incident.step,
            "wall_time": incident.happened_at or incident.wall_time,
            "text": incident.text,
            "threads": [],
        }
    for gap in attempt.all(facts.RecordingStopped):
        what = "Recording went on after a gap" if gap.resumed else "Not recorded"
        yield {
            "id": "",
            "kind": "recording_stopped",
            "severity": "info",
            "message": f"{what}: {gap.what} ({gap.why})",
            "step": gap.step,
            "wall_time": gap.wall_time,
            "text": None,
            "threads": [],
        }
    for stall in attempt.all(facts.Stalled):
        yield {
            "id": "",
            "kind": "stalled",
            "severity": "warning",
            "message": (
                f"No step finished for {stall.silent_seconds or 0:,.0f} s. "
                f"{stall.because or ''}"
            ).strip(),
            "step": stall.step,
            "wall_time": stall.since or stall.wall_time,
            "text": stall.stacks,
            "threads": [],
        }
    for over in attempt.all(facts.StallEnded):
        yield {
            "id": "",
            "kind": "stall_ended",
            "severity": "info",
            "message": f"The training went on after {over.silent_seconds or 0:,.0f} s",
            "step": over.step,
            "wall_time": over.wall_time,
            "text": None,
            "threads": [],
        }
    for child in attempt.all(facts.ChildEnded):
        yield {
            "id": "",
            "kind": "child_ended",
            "severity": "warning",
            "message": (
                f"Process {child.pid} ({child.name}), started by the training, was "
                f"ended by signal {child.signal}"
            ),
            "step": child.step,
            "wall_time": child.wall_time,
            "text": None,
            "threads": [],
        }
    for seen in attempt.all(facts.ProcessEnded):
        words = seen.stacks or seen.output_tail
        text = words or seen.log_tail
        if seen.signal is not None or (seen.exit_code and words):
            how = f"signal {seen.signal}" if seen.signal else f"status {seen.exit_code}"
            yield {
                "id": "",
                "kind": "process_ended",
                "severity": "critical",
                "message": f"The process ended with {how}",
                "step": seen.step,
                "wall_time": seen.wall_time,
                "text": text,
                "threads": [],
            }
    for end in attempt.all(facts.RunEnded):
        if end.reason != "finished":
            said = (end.exception, end.message)
            yield {
                "id": "",
                "kind": end.reason or "stop",
                "severity": "critical" if end.reason == "exception" else "info",
                "message": _first_line(": ".join(filter(None, said)) or "Stopped"),
                "step": end.step,
                "wall_time": end.happened_at or end.wall_time,
                "text": end.text,
                "threads": [],
            }


def threads_in(text: str) -> list[payloads.ThreadPayload]:
    """The Python stacks in a text, if there are any, outermost call first."""
    threads = python_stacks.parse(text)
    trains = python_stacks.training_thread(threads)
    return [
        {
            "trains": thread is trains,
            "frames": [
                {
                    "file": frame.file,
                    "line": frame.line,
                    "function": frame.function,
                    "library": frame.is_library,
                }
                for frame in reversed(thread.frames)
            ],
        }
        for thread in threads
    ]


def _first_line(text: str) -> str:
    return text.strip().split("\n", 1)[0]
