"""A limit of the system was hit: open files, threads, processes, room on a disk."""

import re
import shlex

from tb_health_plugin.diagnosis import hosting
from tb_health_plugin.diagnosis.ending import Ending
from tb_health_plugin.diagnosis.exceptions.failure import failure
from tb_health_plugin.diagnosis.exceptions.raised import Raised
from tb_health_plugin.diagnosis.verdict import Evidence, Fix
from tb_health_plugin.events import facts
from tb_health_plugin.reading.table import measured

_FILES = r"\[Errno 24\]|\[Errno 23\]|Too many open files"
_THREADS = (
    r"can't start new thread|pthread_create\(?\)? failed|create new native thread"
)
_PROCESSES = r"\[Errno 11\]|Resource temporarily unavailable"
# EAGAIN also comes from sockets and locks: only where a process was to be made.
_MAKES_PROCESS = (
    r"popen_fork|/multiprocessing/(context|process|pool)\.py|/subprocess\.py"
    r"|/concurrent/futures/process\.py|:fork$|:_fork_exec$|:_execute_child$"
)
_FULL = (
    r"\[Errno 28\]|\[Errno 122\]|No space left on device|Disk quota exceeded"
    r"|errno = 28\b|errno = 122\b|database or disk is full"
    # What NumPy says when an array goes into a file only in part.
    r"|\d+ requested and \d+ written"
)
# The save() of NumPy writes arrays, which may be anything.
_SAVING = r"/saving/|/callbacks/model_checkpoint\.py|^(?!.*/numpy/).*:save\w*$"
_PATH = r"['\"](/[^'\"\n]+)['\"]|(/\S+?); (?:No space|Disk quota)"
_MIB = float(1 << 20)
# A run of this many samples tells whether a number rises.
_ENOUGH = 3


def handles(raised: Raised) -> Ending | None:
    """Out of file descriptors, threads or processes."""
    if raised.find(_FILES):
        return _handles(raised, "files", "files", "open files")
    if raised.find(_THREADS):
        return _handles(raised, "threads", "threads", "threads")
    if raised.find(_PROCESSES) and raised.passes(_MAKES_PROCESS):
        return _handles(raised, "processes", "processes", "processes")
    return None


def _handles(raised: Raised, detail: str, chip: str, words: str) -> Ending:
    return failure(
        raised,
        id="handle_limit",
        detail=detail,
        headline=f"The limit on {words} was reached {raised.where}",
        because="The kernel refused one more, and the program was told so.",
        evidence=(*raised.evidence(), *_counted(raised, detail)),
        fixes=_fixes(raised, detail),
        chip=f"Too many {chip}",
    )


def _counted(raised: Raised, detail: str) -> tuple[Evidence, ...]:
    column, limit, what = _COLUMNS[detail]
    samples = raised.attempt.samples
    counts = samples.column(column)
    known = counts[measured(counts) & (counts == counts)]
    if len(known) < _ENOUGH:
        return ()
    first, most = float(known[0]), float(known.max())
    allowed = _last(raised, limit)
    of = f" of {allowed:,.0f} allowed" if allowed else ""
    text = f"It had up to {most:,.0f} {what}{of}."
    if most > 2 * first and raised.attempt.last_step:
        text = f"It had {first:,.0f} {what} at first and {most:,.0f}{of} at last."
    return (Evidence(text=text, at=raised.at),)


_COLUMNS = {
    "files": ("process_fds", "process_fd_limit", "open files"),
    "threads": ("process_threads", "cgroup_pids_limit", "threads"),
    "processes": ("cgroup_pids_used", "cgroup_pids_limit", "processes and threads"),
}


def _last(raised: Raised, column: str) -> float | None:
    values = raised.attempt.samples.column(column)
    known = values[measured(values) & (values == values)]
    return float(known[-1]) if len(known) else None


def _fixes(raised: Raised, detail: str) -> tuple[Fix, ...]:
    where = raised.line_words or "the line in the traceback"
    allow_more = hosting.handles(
        raised.attempt, detail, _last(raised, _COLUMNS[detail][1])
    )
    if detail == "files":
        return (
            Fix(
                title=f"Close what {where} opens",
                why="Each open file stays one until it is closed. A higher limit only "
                "delays the end if the number rises.",
                code="with open(path, 'rb') as file:\n    ...",
            ),
            Fix(
                title="Raise the limit, if so many are really needed",
                why="It holds for what is started from the same shell.",
                code=allow_more,
            ),
        )
    workers = raised.setting("data.workers")
    now = f" The data has {workers} workers now." if workers else ""
    return (
        Fix(
            title=f"Start fewer {detail} at a time",
            why=f"Look at {where}: what is started per step or epoch and never ends "
            f"adds up.{now}",
            code=_fewer(detail, workers),
        ),
        Fix(
            title="Ask for a higher limit, if so many are really needed",
            why="The limit of a container is set by who starts it, that of a user by "
            "ulimit.",
            code=allow_more,
        ),
    )


def _fewer(detail: str, workers: str | None) -> str:
    """Half of the data's workers if it has some, else a pool that ends by itself."""
    if workers and workers.isdecimal() and int(workers) > 1:
        return f"super().__init__(workers={int(workers) // 2})"
    if detail == "threads":
        return "with concurrent.futures.ThreadPoolExecutor(4) as pool:\n    ..."
    return "with multiprocessing.Pool(4) as pool:\n    ..."


def disk(raised: Raised) -> Ending | None:
    """No room where something was to be written."""
    if raised.find(_FULL) is None:
        return None
    path = _path(raised)
    place = raised.place
    if path:
        place["path"] = path
    while_saving = raised.passes(_SAVING)
    return failure(
        raised,
        id="disk_full",
        detail=path,
        headline=f"The disk was full {raised.where}"
        + (", while the model was saved" if while_saving else ""),
        because="The kernel refused to write for lack of room, and said so.",
        place=place,
        evidence=(*raised.evidence(), *_room(raised)),
        fixes=_room_fixes(raised, path),
        chip="Disk full",
        explains=("checkpoint_failure",),
    )


def _path(raised: Raised) -> str | None:
    for voice in raised.voices:
        found = re.search(_PATH, voice.message)
        if found:
            return found[1] or found[2]
    saved = raised.attempt.last(facts.Saved)
    return saved.path if saved else None


def _room(raised: Raised) -> tuple[Evidence, ...]:
    found = []
    kept = _kept(raised)
    if kept is not None:
        count, size = kept
        text = f"{count:,} checkpoints had been written, {size / _MIB:,.1f} MiB each."
        found.append(Evidence(text=text, strong=False, at=raised.at))
    for column, what in (
        ("logdir_disk_free_bytes", "the log"),
        ("save_disk_free_bytes", "the checkpoints"),
        ("files_disk_free_bytes", "files that the training writes"),
        ("temp_disk_free_bytes", "temporary files"),
    ):
        free = _last(raised, column)
        if free is not None and free < 64 * _MIB:
            text = f"{free / _MIB:,.0f} MiB were free on the disk of {what}."
            found.append(Evidence(text=text, strong=False, at=raised.at))
    return tuple(found)


def _kept(raised: Raised) -> tuple[int, float] | None:
    """How many different files were saved, and their mean size."""
    saves = {
        one.path: one.size_bytes
        for one in raised.attempt.all(facts.Saved)
        if one.ok and one.path and one.size_bytes
    }
    sizes = [size for size in saves.values() if size]
    return (len(sizes), sum(sizes) / len(sizes)) if len(sizes) > 1 else None


def _room_fixes(raised: Raised, path: str | None) -> tuple[Fix, ...]:
    fixes = []
    kept = _kept(raised)
    if kept is not None:
        fixes.append(
            Fix(
                title="Keep only the best checkpoint",
                why=f"{kept[0]:,} of {kept[1] / _MIB:,.1f} MiB were kept; with one "
                "name for all, each replaces the one before.",
                code='keras.callbacks.ModelCheckpoint("best.keras", '
                "save_best_only=True)",
            )
        )
    folder = path.rsplit("/", 1)[0] if path and "/" in path else None
    fixes.append(
        Fix(
            title="Free room there, or write elsewhere",
            why="The next run ends in the same place otherwise.",
            code=f"df -h {shlex.quote(folder)}" if folder else "df -h",
        )
    )
    return tuple(fixes)
