"""Tables that follow from a record, kept while somebody looks at it.

The page of a run asks for all its lanes at once, and most of them are columns of one
table. A day of samples takes some ten milliseconds to go through.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable

from tb_health_plugin.reading.run_history import Attempt
from tb_health_plugin.reading.table import Table

Make = Callable[[Attempt], Table]

# Of so many records: those of a comparison.
MOST_ATTEMPTS = 8


class KeptTables:
    """Makes a table once, as long as its record stays the same."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[
            int, tuple[Attempt, tuple[int, int], dict[Make, Table]]
        ] = OrderedDict()

    def table(self, attempt: Attempt, make: Make) -> Table:
        # Held while it is made: who asks for the next lane wants the same table.
        with self._lock:
            known, size, tables = self._kept.get(id(attempt), (None, None, {}))
            if known is not attempt or size != attempt.size:
                tables = {}
            self._kept[id(attempt)] = (attempt, attempt.size, tables)
            self._kept.move_to_end(id(attempt))
            while len(self._kept) > MOST_ATTEMPTS:
                self._kept.popitem(last=False)
            if make not in tables:
                tables[make] = make(attempt)
            return tables[make]
