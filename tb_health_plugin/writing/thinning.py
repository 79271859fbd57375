"""How much of what is measured a worker of a large team writes down.

All of them are read together: a thousand that write every second for a day would leave
more than any reader can hold. Everything is still measured as often, so nothing that is
noticed on the spot is noticed later, and the last minute is written in full.
"""

# A team of this size writes everything.
FULL_TEAM = 16
# The largest one writes a sample a minute.
MOST_APART = 60


def written_each(workers: int) -> int:
    """Of so many samples one is written."""
    return max(1, min(MOST_APART, workers // FULL_TEAM))
