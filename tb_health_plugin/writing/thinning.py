"""How much of what is measured is written down, where all of it would be too much.

The workers of a large team are read together: a thousand that write every second for a
day would leave more than any reader can hold. So would eight GPUs with all their
numbers. Everything is still measured as often, so nothing that is noticed on the spot
is noticed later, and the last minute is written in full.
"""

import math

from tb_health_plugin.events.sample_file import SampleShape

# A team of this size writes everything.
FULL_TEAM = 16
# The largest one writes a sample a minute.
MOST_APART = 60
# What a run may leave on the disk, by samples once a second.
MOST_BYTES_PER_HOUR = 5_000_000
_SECONDS = 3_600


def written_each(workers: int) -> int:
    """Of so many samples one is written."""
    return max(1, min(MOST_APART, workers // FULL_TEAM))


def fitting_each(columns: int) -> int:
    """Of so many samples one is written, so that an hour stays small.

    Whoever asks for more than one a second gets as many more.
    """
    hour = SampleShape(columns).record_bytes * _SECONDS
    return math.ceil(hour / MOST_BYTES_PER_HOUR)
