"""The folder in which commands of the pages are tried."""

from pathlib import Path

import pytest

from tests.docs.reader import furnish


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as a user has it: recorded runs, and a program."""
    folder = tmp_path_factory.mktemp("place")
    furnish(folder)
    return folder
