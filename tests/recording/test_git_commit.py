"""The commit of a repository, read from the files that git itself makes."""

import subprocess
from pathlib import Path

import pytest

from tb_health_plugin.recording.git_commit import git_commit


def git(directory: Path, *command: str) -> str:
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    done = subprocess.run(
        ["git", *who, *command],
        cwd=directory,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    path = tmp_path / "repository"
    (path / "src").mkdir(parents=True)
    git(path, "init", "-q")
    git(path, "commit", "-q", "--allow-empty", "-m", "first")
    return path


def test_a_branch_is_followed_to_its_commit(repository: Path):
    assert git_commit(repository / "src") == git(repository, "rev-parse", "HEAD")


def test_a_packed_branch_is_found(repository: Path):
    git(repository, "pack-refs", "--all")

    assert git_commit(repository) == git(repository, "rev-parse", "HEAD")


def test_a_commit_without_a_branch_is_found(repository: Path):
    git(repository, "checkout", "-q", "--detach")

    assert git_commit(repository) == git(repository, "rev-parse", "HEAD")


def test_a_worktree_has_a_commit_of_its_own(repository: Path):
    git(repository, "worktree", "add", "-q", "-b", "other", "../other")
    other = repository.parent / "other"
    git(other, "commit", "-q", "--allow-empty", "-m", "second")

    assert git_commit(other) == git(other, "rev-parse", "HEAD")
    assert git_commit(other) != git_commit(repository)


def test_a_repository_without_a_commit_has_none(tmp_path: Path):
    git(tmp_path, "init", "-q")

    assert git_commit(tmp_path) is None


def test_damaged_files_are_no_commit(repository: Path):
    (repository / ".git/HEAD").write_text("nonsense")

    assert git_commit(repository) is None


def test_outside_a_repository_there_is_none(tmp_path: Path):
    assert git_commit(tmp_path) is None
