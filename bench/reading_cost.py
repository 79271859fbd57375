"""How long does it take to read what was recorded?"""

import tempfile
import time
from pathlib import Path

from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

from bench.measuring import Result, compare
from tb_health_plugin.events.sample_file import SampleFile
from tb_health_plugin.reading.sample_reader import SampleReader
from tb_health_plugin.reading.table import Table

COLUMNS = ("sample", "step", "epoch", "loss", *(f"c{i}" for i in range(12)))
DAY = 86_400


def ask(rounds: int) -> list[Result]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "samples.000.tfrecord"
        file = SampleFile(path, COLUMNS, period_seconds=1.0, now=1.0)
        for second in range(DAY):
            file.append(1.0 + second, [float(second)] * len(COLUMNS))
        file.close()

        def ours() -> float:
            began = time.process_time()
            table = Table()
            SampleReader(path).read_into(table)
            assert len(table) == DAY
            return time.process_time() - began

        def theirs() -> float:
            began = time.process_time()
            assert sum(1 for _ in EventFileLoader(str(path)).Load()) == DAY + 2
            return time.process_time() - began

        size = path.stat().st_size / 1e6
        return [
            compare(
                f"Reading a day of samples ({DAY:,} of {len(COLUMNS)} columns, "
                f"{size:.0f} MB)",
                {"our reader, every checksum checked": ours, "TensorBoard's": theirs},
                unit="CPU s",
                rounds=rounds,
            )
        ]
