"""Finds the runs below a log directory, named as TensorBoard names them."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tb_health_plugin.events.attempt import HEALTH_DIRECTORY, is_remote
from tb_health_plugin.events.rule_choices import RULES_FILE

if TYPE_CHECKING:
    from tb_health_plugin.reading.remote_directory import RemoteDirectory

# What is copied to an object store comes there late: every few minutes, say.
STORE_LATE_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class FoundRun:
    """A directory with data of ours or of TensorBoard's.

    Attributes:
        name: As TensorBoard would call the run.
        attempts: Directories of our attempts in it.
        has_events: TensorBoard's loaders find event files in it.
        rule_files: Files with wishes for the rules, of this directory and those above
            it, the innermost last.
        late_seconds: How late it may be seen here that something was written.
    """

    name: str
    attempts: tuple[Path, ...]
    has_events: bool
    rule_files: tuple[Path, ...] = ()
    late_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Root:
    """A log directory.

    Attributes:
        path: Where it is, or its copy if it is on an object store.
        name: The name that `--logdir_spec` gave it, or none.
        remote: What keeps that copy; None if it is on this machine.
    """

    path: Path
    name: str = ""
    remote: "RemoteDirectory | None" = None

    @property
    def shown(self) -> str:
        """Where it is, for people."""
        return self.remote.address if self.remote else str(self.path)

    @property
    def problem(self) -> str:
        """Why it could not be read the last time; empty if it could."""
        return self.remote.problem if self.remote else ""

    def refresh(self) -> None:
        """Brings the copy up to date, if it is one."""
        if self.remote is not None:
            self.remote.refresh()


def parse_roots(logdir: str, logdir_spec: str) -> tuple[Root, ...]:
    """The log directories that TensorBoard was started with."""
    if logdir_spec:
        return tuple(_parse_spec(part) for part in logdir_spec.split(",") if part)
    return (root_of(logdir),) if logdir else ()


def find_runs(root: Root) -> Iterator[FoundRun]:
    """Every run below `root`. A directory that cannot be read is passed over."""
    seen: set[tuple[int, int]] = set()
    rule_files: dict[str, tuple[Path, ...]] = {}
    for directory, folders, files in os.walk(root.path, followlinks=True):
        if _visited(directory, seen):
            folders.clear()
            continue
        attempts = tuple(_attempts(directory, folders))
        has_events = any("tfevents" in name for name in files)
        wishes = rule_files.get(directory.rpartition(os.sep)[0], ())
        if RULES_FILE in files:
            wishes = (*wishes, Path(directory) / RULES_FILE)
        rule_files[directory] = wishes
        if attempts or has_events:
            late = STORE_LATE_SECONDS if root.remote else 0.0
            name = _name(root, directory)
            yield FoundRun(name, attempts, has_events, wishes, late)
        # Below plugins/ lies data of plugins, not runs.
        folders[:] = sorted(name for name in folders if name != "plugins")


def _attempts(directory: str, folders: list[str]) -> Iterator[Path]:
    if "plugins" not in folders:
        return
    health = Path(directory) / HEALTH_DIRECTORY
    # A run may be a link, as for TensorBoard; what is ours in it may not.
    if health.is_symlink() or health.parent.is_symlink():
        return
    try:
        with os.scandir(health) as entries:
            yield from sorted(
                Path(entry.path)
                for entry in entries
                if entry.is_dir(follow_symlinks=False)
            )
    except OSError:
        return


def _visited(directory: str, seen: set[tuple[int, int]]) -> bool:
    """Links may lead in a circle; every directory is looked at once."""
    try:
        status = os.stat(directory)
    except OSError:
        return True
    identity = (status.st_dev, status.st_ino)
    known = identity in seen
    seen.add(identity)
    return known


def _name(root: Root, directory: str) -> str:
    relative = os.path.relpath(directory, root.path)
    if not root.name:
        return relative
    return root.name if relative == "." else f"{root.name}/{relative}"


def _parse_spec(part: str) -> Root:
    """`name:/path` or `/path`, told apart as TensorBoard does."""
    named = ":" in part and not part.startswith("/") and not is_remote(part)
    if not named or os.path.splitdrive(part)[0]:
        return root_of(part)
    name, _, path = part.partition(":")
    return root_of(path, name)


def root_of(logdir: "str | os.PathLike[str]", name: str = "") -> Root:
    """The log directory at a path, or at the address of an object store."""
    if not is_remote(logdir):
        return Root(Path(logdir).expanduser(), name)
    # What it needs takes memory, and most log directories are not of that kind.
    from tb_health_plugin.reading.remote_directory import (  # noqa: PLC0415
        RemoteDirectory,
    )

    remote = RemoteDirectory(os.fspath(logdir))
    return Root(remote.path, name, remote)
