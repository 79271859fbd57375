"""Opens a log directory, or says in one sentence why it cannot be read."""

import os
from pathlib import Path

from tb_health_plugin.events.attempt import HEALTH_DIRECTORY, is_remote
from tb_health_plugin.reading.library import Library, Run, Tick
from tb_health_plugin.reading.log_directory import Root, root_of

_PLUGINS = Path(HEALTH_DIRECTORY).parts[0]


class CannotRead(NotADirectoryError):
    """The directory is missing, is none, or may not be read."""


class NothingRecorded(LookupError):
    """There is no run with health data below that directory."""


def open_library(
    logdir: "str | os.PathLike[str]", tick: Tick = lambda done, of: None
) -> Library:
    """Everything below the directory, read once.

    Args:
        logdir: The directory.
        tick: Called with how many runs were read, and of how many.

    Raises:
        CannotRead: There is no such directory, or it may not be read.
    """
    library = Library([open_root(logdir)])
    library.refresh(tick)
    return library


def open_root(logdir: "str | os.PathLike[str]") -> Root:
    """The directory, or one on an object store, if it can be read.

    Raises:
        CannotRead: There is no such directory, or it may not be read.
    """
    if not is_remote(logdir):
        return Root(check_directory(logdir))
    root = root_of(logdir)
    root.refresh()
    if root.problem:
        raise CannotRead(f"{root.shown} {root.problem}")
    if root.remote is not None and root.remote.is_empty:
        raise CannotRead(f"{root.shown} does not exist, or is empty")
    return root


def check_directory(logdir: "str | os.PathLike[str]") -> Path:
    """The directory, if it can be read.

    Raises:
        CannotRead: There is no such directory, or it may not be read.
    """
    if is_remote(logdir):
        where = os.fspath(logdir)
        raise CannotRead(f"{where} is on an object store; name a directory here")
    directory = Path(logdir).expanduser()
    complaint = _complaint(directory)
    if complaint:
        raise CannotRead(f"{directory} {complaint}")
    return directory


def recorded_run(library: Library, name: str | None) -> Run:
    """The run of that name, else the one that was last heard of.

    Raises:
        NothingRecorded: There is none with health data; the message says what there
            is instead.
    """
    runs = [run for run in library.runs() if run.history.attempts]
    if name is not None:
        runs = [run for run in runs if run.name == name]
    if not runs:
        raise NothingRecorded(why_nothing(library, name))
    run = max(runs, key=last_seen)
    if not last_seen(run):
        raise NothingRecorded(_why_empty(run))
    return run


def last_seen(run: Run) -> float:
    """When the run was last heard of; 0 if nothing is known of it."""
    return max((a.last_seen_at or 0.0 for a in run.history.attempts), default=0.0)


def _complaint(directory: Path) -> str | None:
    try:
        if directory.is_dir():
            with os.scandir(directory):
                return None
        if directory.is_symlink() and not directory.exists():
            return f"is a link to {directory.readlink()}, which does not exist"
        exists = directory.exists()
    except PermissionError:
        return "cannot be read: permission denied"
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return "is a file, not a log directory" if exists else "does not exist"


def why_nothing(library: Library, name: str | None = None) -> str:
    """What there is in place of the run that was asked for, as a sentence."""
    root = library.roots[0]
    where = root.shown
    if name is not None and library.runs():
        known = [run.name for run in library.runs()]
        near = f"; there are {', '.join(known[:5])}" if known else ""
        more = " and more" if len(known) > 5 else ""
        return f"No run called {name!r} with health data below {where}{near}{more}"
    if library.runs():
        return f"No run with health data below {where}, only event files of TensorBoard"
    others = _other_plugins(root.path)
    if others:
        return f"No runs below {where}, only data of other plugins: {', '.join(others)}"
    return f"No runs below {where}: it holds neither health data nor event files"


def _other_plugins(where: Path) -> list[str]:
    """Names of plugins that left data somewhere below."""
    found: set[str] = set()
    for directory, folders, _ in os.walk(where):
        if Path(directory).name == _PLUGINS:
            found.update(folders)
            folders.clear()
    return sorted(found - {Path(HEALTH_DIRECTORY).name})


def _why_empty(run: Run) -> str:
    """Why nothing is known of a run that has a place for its record."""
    called = "this run" if run.name == "." else f"run {run.name!r}"
    for problem in run.problems:
        return f"The record of {called}: {problem.file.name} {problem.message}"
    return (
        f"The record of {called} is empty: its training was ended before it could "
        "write, or its files were cut"
    )
