"""The files of one attempt, as the one that writes them sees them."""

import contextlib
from collections.abc import Mapping
from pathlib import Path

from tb_health_plugin.events.attempt import FileName
from tb_health_plugin.events.columns import NOT_MEASURED
from tb_health_plugin.events.event_file import EventFile
from tb_health_plugin.events.sample_file import SampleFile

# A file of samples holds one day, so that no file grows without end.
SAMPLE_FILE_SECONDS = 86_400.0
# Room for the last facts of a run that filled its disk: an end with its stacks, twice.
SPARE_BYTES = 256 << 10


class AttemptFiles:
    """Opens, rolls and closes files below `directory`.

    A file is never opened twice and never shared: each writer takes numbers that no
    file has yet. After a failure the next `ensure_open` makes new ones, which begin
    with the start again, so that each set tells its own story.

    Args:
        directory: The attempt's own. Made again if somebody removed it.
        start: First event of every file of records, encoded.
        columns: Names of the numbers of a sample, in order.
        period_seconds: Time between two samples as planned.
    """

    def __init__(
        self,
        directory: Path,
        *,
        start: bytes,
        columns: tuple[str, ...],
        period_seconds: float,
    ) -> None:
        self._directory = directory
        self._start = start
        self._columns = columns
        self._period_seconds = period_seconds
        self._records: EventFile | None = None
        self._samples: SampleFile | None = None
        self._roll_at = 0.0
        # The training under way, told again in every new file of records.
        self.training = b""
        self._files_made = 0

    def ensure_open(self, now: float) -> None:
        """Makes sure that there is a file for facts.

        Raises:
            OSError: It cannot be made.
        """
        if self._records is not None and not self._records.path.exists():
            # Somebody removed the directory: writing on would go nowhere.
            self.abandon()
        if self._records is None:
            self._directory.mkdir(parents=True, exist_ok=True)
            self._records = EventFile(
                self._free_path("records"), now=now, spare_bytes=SPARE_BYTES
            )
            self._records.append_raw(self._start, sync=True)
            if self._files_made and self.training:
                self._records.append_raw(self.training)
            self._files_made += 1

    def append_sample(self, now: float, numbers: Mapping[str, float]) -> None:
        """Appends a sample, to a new file if need be.

        Raises:
            OSError: It cannot be written; facts still may be.
        """
        if self._samples is not None and now >= self._roll_at:
            self._samples.close()
            self._samples = None
        if self._samples is None:
            self._samples = self._new_samples(now)
            self._roll_at = now + SAMPLE_FILE_SECONDS
        self._samples.append(
            now, [numbers.get(column, NOT_MEASURED) for column in self._columns]
        )

    def append(self, event: bytes, *, sync: bool = False) -> None:
        assert self._records is not None
        self._records.append_raw(event, sync=sync)

    def abandon_samples(self) -> None:
        """Gives the file of samples up; the next sample makes a new one."""
        with contextlib.suppress(OSError):
            if self._samples is not None:
                self._samples.close()
        self._samples = None

    def abandon(self) -> None:
        """Gives the open files up; the next `ensure_open` makes new ones."""
        with contextlib.suppress(OSError):
            self.close()
        self._records = self._samples = None

    def close(self) -> None:
        for file in (self._records, self._samples):
            if file is not None:
                file.close()

    def _new_samples(self, now: float) -> SampleFile:
        path = self._free_path("samples")
        try:
            return SampleFile(
                path, self._columns, period_seconds=self._period_seconds, now=now
            )
        except OSError:
            # A full disk may have room for a name, and for one more with every try.
            path.unlink(missing_ok=True)
            raise

    def _free_path(self, kind: str) -> Path:
        taken = [
            name.number
            for name in map(FileName.parse, map(_name, self._directory.iterdir()))
            if name is not None and name.kind == kind
        ]
        return self._directory / str(FileName(kind, max(taken, default=-1) + 1))


def _name(path: Path) -> str:
    return path.name
