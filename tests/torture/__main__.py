"""`make torture`: every chamber for its share of the time, then a table."""

import argparse
import sys
import time

from tests.torture import (
    cruel_disks,
    damaged_files,
    guided_bytes,
    hostile_requests,
    hostile_values,
    jumping_clocks,
    many_trainings,
    server_storm,
    signal_storm,
    simulated_hours,
)
from tests.torture.chamber import Chamber, Tally, torment

CHAMBERS: tuple[Chamber, ...] = (
    damaged_files.CHAMBER,
    guided_bytes.CHAMBER,
    hostile_values.CHAMBER,
    hostile_requests.CHAMBER,
    signal_storm.CHAMBER,
    server_storm.CHAMBER,
    jumping_clocks.CHAMBER,
    cruel_disks.CHAMBER,
    many_trainings.CHAMBER,
    simulated_hours.CHAMBER,
)
# Chambers take turns, so that a run that is cut short has seen all of them.
TURN_SECONDS = 60.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--rounds", type=int, help="of each chamber, not by time")
    parser.add_argument("--only", choices=[c.name for c in CHAMBERS])
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    chosen = [c for c in CHAMBERS if options.only in (None, c.name)]
    tallies = {c.name: Tally(c) for c in chosen}
    shares = sum(c.share for c in chosen)
    turns = max(1, round(options.minutes * 60.0 / (TURN_SECONDS * len(chosen))))
    if options.rounds is not None:
        turns = 1
    for _ in range(turns):
        for chamber in chosen:
            seconds = options.minutes * 60.0 * chamber.share / shares / turns
            whole = tallies[chamber.name]
            one = torment(
                chamber,
                seed=options.seed + whole.rounds,
                seconds=seconds,
                rounds=options.rounds,
            )
            _add(whole, one)
    for tally in tallies.values():
        _show(tally)
    return 1 if any(t.failures for t in tallies.values()) else 0


def _add(whole: Tally, part: Tally) -> None:
    whole.rounds += part.rounds
    whole.counts += part.counts
    whole.seconds += part.seconds
    whole.broken += part.broken
    for text in part.broken:
        print(f"BROKEN in {part.chamber.name}, {text}\n", flush=True)


def _show(tally: Tally) -> None:
    print(f"\n## {tally.chamber.name}: {tally.chamber.promise}\n")
    print(
        f"{tally.rounds:,} rounds in {tally.seconds / 60:.1f} minutes, "
        f"{tally.failures:,} broken\n"
    )
    for what, count in sorted(tally.counts.items()):
        print(f"- {what}: {count:,}")


if __name__ == "__main__":
    sys.exit(main())
