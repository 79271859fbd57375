"""The program left a training on purpose: it exited, or somebody pressed Ctrl-C."""

from tb_health_plugin.diagnosis import endings
from tb_health_plugin.diagnosis.ending import Ending
from tb_health_plugin.diagnosis.exceptions.failure import failure
from tb_health_plugin.diagnosis.exceptions.raised import Raised
from tb_health_plugin.diagnosis.resuming import go_on
from tb_health_plugin.diagnosis.verdict import Evidence, Fix
from tb_health_plugin.events import facts


def left(raised: Raised) -> Ending | None:
    """An exit or an interrupt; None if this is an error."""
    if raised.name == "KeyboardInterrupt":
        seen = "KeyboardInterrupt ended the training."
        return endings.interrupted(raised.where, raised.at, seen)
    if raised.name == "SystemExit":
        return _exited(raised)
    inner = raised.inner
    if raised.in_data and inner is not None and inner.name == "SystemExit":
        return _exited_in_data(raised, inner.message)
    return None


def _exited_in_data(raised: Raised, said: str) -> Ending:
    """It ends nothing there: TensorFlow makes an error of its own of it."""
    line = raised.line_words
    call = f"sys.exit(){f' ({line})' if line else ''} in the data pipeline"
    done, planned = _epochs(raised)
    return failure(
        raised,
        id="explicit_exit",
        detail=f"status {_status_said(said)}",
        headline=f"{call} ended the training {_where(raised, done, planned)}",
        because=f"What makes the batches called sys.exit(). The training got it as "
        f"{raised.name}.",
        fixes=(
            Fix(
                title=f"Skip the record, or raise an error that says what is wrong, "
                f"at {line or 'that line'}",
                why="In a data pipeline sys.exit() does not end the program in peace.",
                code='raise ValueError(f"bad record: {record}")',
            ),
        ),
        chip="Ended itself",
    )


def _exited(raised: Raised) -> Ending:
    asked = _was_asked(raised)
    status = _status(raised)
    evidence = [
        Evidence(
            text=f"{_call(raised)} raised SystemExit with status {status}.",
            at=raised.at,
        )
    ]
    done, planned = _epochs(raised)
    if planned:
        text = f"{done:,} of {planned:,} epochs were done; nothing after fit() was run."
        evidence.append(Evidence(text=text, at=raised.at))
    if asked:
        return _on_request(raised, status, evidence)
    success = " The status says success." if status == 0 else ""
    return failure(
        raised,
        state="ended_early",
        id="explicit_exit",
        detail=f"status {status}",
        severity="warning",
        headline=f"{_call(raised)} ended the program {_where(raised, done, planned)}",
        because=f"The program called sys.exit() in the middle of a training.{success}",
        evidence=tuple(evidence),
        fixes=(_stop_the_training(raised),),
        chip="Ended itself",
    )


def _stop_the_training(raised: Raised) -> Fix:
    title = "Stop the training instead of the program"
    if raised.training is not None and raised.training.loop == "loop":
        return Fix(
            title=title,
            why="What comes after the loop is run then: saving among it.",
            code="break",
        )
    return Fix(
        title=title,
        why="fit() returns then, and what comes after it is run: saving among it.",
        code="self.model.stop_training = True",
    )


def _on_request(raised: Raised, status: int, evidence: list[Evidence]) -> Ending:
    """A handler of SIGTERM called sys.exit()."""
    text = "A signal had asked the process to end (SIGTERM or SIGHUP)."
    return failure(
        raised,
        state="ended_early",
        id="preempted",
        detail="handled",
        severity="warning",
        confidence="likely",
        headline=f"Asked to stop, and exited with status {status} {raised.where}",
        because="A signal asked for it, and the program's own handler ended it.",
        evidence=(Evidence(text=text, at=raised.at), *evidence),
        fixes=(go_on(raised.attempt),),
        chip="Ended from outside",
    )


def _was_asked(raised: Raised) -> bool:
    seen = raised.attempt.last(facts.ProcessEnded)
    return bool(seen and seen.stacks and seen.signal is None)


def _status(raised: Raised) -> int:
    seen = raised.attempt.last(facts.ProcessEnded)
    if seen is not None and seen.exit_code is not None:
        return seen.exit_code
    return _status_said(raised.message)


def _status_said(message: str) -> int:
    said = message.strip().partition("\n")[0].strip()
    if said in ("", "None"):
        return 0
    return int(said) if said.lstrip("-").isdecimal() else 1


def _call(raised: Raised) -> str:
    line = raised.line_words
    where = f" ({line})" if line else ""
    if raised.callback:
        return f"sys.exit() in {raised.callback}{where}"
    return f"sys.exit(){where}"


def _epochs(raised: Raised) -> tuple[int, int]:
    begun = raised.training
    if begun is None:
        return 0, 0
    planned = (begun.planned_epochs or 0) - (begun.initial_epoch or 0)
    ended = [
        one
        for one in raised.attempt.all(facts.EpochEnded)
        if one.training == begun.training
    ]
    return len({one.epoch for one in ended}), planned


def _where(raised: Raised, done: int, planned: int) -> str:
    if done and planned > 1:
        return f"after {done:,} of {planned:,} epochs"
    return raised.where
