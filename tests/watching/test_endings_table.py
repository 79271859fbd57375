"""The table in the documentation is what really happens."""

import pytest

from tests.watching import endings_table


@pytest.mark.live
def test_every_row_of_the_table_is_true():
    """After a change: python -m tests.watching.endings_table, then read the diff."""
    written = endings_table.DOCUMENT.read_text().splitlines()

    for row in endings_table.rows():
        assert row in written
