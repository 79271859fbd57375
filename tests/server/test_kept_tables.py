"""A table is made once, and again when its record has grown."""

from tb_health_plugin.reading.run_history import Attempt
from tb_health_plugin.reading.table import TIME, Table
from tb_health_plugin.server.kept_tables import MOST_ATTEMPTS, KeptTables


class Made:
    """Counts how often a table is made."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, attempt: Attempt) -> Table:
        self.count += 1
        return Table()


def test_a_table_is_made_once():
    kept, made, attempt = KeptTables(), Made(), Attempt("a")

    assert kept.table(attempt, made) is kept.table(attempt, made)
    assert made.count == 1


def test_it_is_made_again_when_the_record_has_grown():
    kept, made, attempt = KeptTables(), Made(), Attempt("a")
    kept.table(attempt, made)

    attempt.samples.append({TIME: [1.0]})
    kept.table(attempt, made)

    assert made.count == 2


def test_only_those_of_a_few_records_are_kept():
    kept, made = KeptTables(), Made()
    attempts = [Attempt(str(number)) for number in range(MOST_ATTEMPTS + 1)]
    for attempt in attempts:
        kept.table(attempt, made)

    kept.table(attempts[-1], made)
    assert made.count == len(attempts)
    kept.table(attempts[0], made)
    assert made.count == len(attempts) + 1
