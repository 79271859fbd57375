"""The commit that a program was started from, read from the files of git."""

import re
from pathlib import Path

_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


def git_commit(directory: Path) -> str | None:
    """The commit checked out where `directory` is; None outside a repository."""
    try:
        git = _git_directory(directory)
        return _head(git) if git is not None else None
    except OSError:
        return None


def _git_directory(directory: Path) -> Path | None:
    for parent in (directory, *directory.parents):
        git = parent / ".git"
        if git.is_dir():
            return git
        if git.is_file():
            # A worktree or a submodule keeps it elsewhere.
            return parent / git.read_text().removeprefix("gitdir:").strip()
    return None


def _head(git: Path) -> str | None:
    head = (git / "HEAD").read_text().strip()
    if not head.startswith("ref:"):
        return _commit(head)
    ref = head.removeprefix("ref:").strip()
    # Branches of a worktree are kept by the repository that it belongs to.
    common = git / "commondir"
    homes = [git, git / common.read_text().strip()] if common.is_file() else [git]
    for home in homes:
        if (home / ref).is_file():
            return _commit((home / ref).read_text().strip())
    return next((found for home in homes if (found := _packed(home, ref))), None)


def _packed(home: Path, ref: str) -> str | None:
    packed = home / "packed-refs"
    if not packed.is_file():
        return None
    with packed.open(errors="replace") as lines:
        for line in lines:
            commit, _, name = line.strip().partition(" ")
            if name == ref:
                return _commit(commit)
    return None


def _commit(text: str) -> str | None:
    return text if _COMMIT.fullmatch(text) else None
