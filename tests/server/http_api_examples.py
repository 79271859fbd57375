"""The run behind the examples of `http_api.md`, and the way to write them anew.

python -m tests.server.http_api_examples
"""

import json
import math
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from werkzeug.test import Client

from tb_health_plugin import server
from tb_health_plugin.events import facts
from tb_health_plugin.events.attempt import HEALTH_DIRECTORY, FileName
from tb_health_plugin.events.event_file import EventFile
from tb_health_plugin.events.sample_file import SampleFile
from tb_health_plugin.reading.library import Library
from tb_health_plugin.reading.log_directory import Root
from tb_health_plugin.server.refresher import Refresher
from tb_health_plugin.server.routes import Routes
from tb_health_plugin.server.view import View
from tests.conftest import worker_settings

DOCUMENT = Path(server.__file__).parent / "http_api.md"
BLOCK = re.compile(r"(^## `GET /(\w+)[^\n]*\n.*?```json\n)(.*?)(```)", re.S | re.M)
SHOWN_LOGDIR = "/home/ana/logs"
URLS = {
    "runs": "/runs",
    "run": "/run?run=bs512",
    "lane": "/lane?run=bs512&lane=host_memory&buckets=3",
    "compare": "/compare?a=bs512",
    "workers": "/workers?run=two&buckets=6",
    "training": "/training?run=bs512",
    "events": "/events?run=bs512&limit=2",
}

BEGAN = 1_763_400_000.0
ENDED = BEGAN + 2_520.0
ATTEMPT = "20251117-172000-node7-4711-9f3a1c"
TWIN_ATTEMPT = "20251117-142000-node7-4012-77b0e2"
HOURS_BEFORE = 3 * 3_600.0
GIB = float(1 << 30)
MEMORY = {"process_rss_bytes": GIB, "host_memory_used_bytes": 3 * GIB}


def examples() -> dict[str, Any]:
    """The examples as `http_api.md` has them now."""
    return {
        name: json.loads(text)
        for _, name, text, _ in BLOCK.findall(DOCUMENT.read_text())
        if name in URLS
    }


def answers(folder: Path) -> dict[str, Any]:
    """What the routes answer about the run of the examples."""
    logs = folder / "logs"
    write_logs(logs)
    plain = client(logs)
    write_twin(logs)
    asked = {"compare": client(logs)}
    write_workers(logs)
    asked["workers"] = client(logs)
    return {
        name: json.loads(
            asked.get(name, plain)(url).text.replace(str(logs), SHOWN_LOGDIR)
        )
        for name, url in URLS.items()
    }


def client(logs: Path) -> Callable[..., Any]:
    """Asks the routes of a view on `logs`, read once."""
    view = View(Library([Root(logs)]), clock=lambda: ENDED + 3_600)
    view.refresh()
    refresher = Refresher(lambda: None, 0)
    refresher.start()
    apps = Routes(view, refresher).apps()

    def get(url: str) -> Any:
        return Client(apps[url.split("?")[0]]).get(url)

    return get


def write_logs(logs: Path) -> None:
    """A run that failed, with a damaged record, and one that nobody monitored."""
    for name in ("bs512/train", "bs512/validation", "tabnet"):
        (logs / name).mkdir(parents=True)
        (logs / name / "events.out.tfevents.1").touch()
    directory = logs / "bs512" / HEALTH_DIRECTORY / ATTEMPT
    directory.mkdir(parents=True)
    path = directory / str(FileName("records", 0))
    records = EventFile(path, now=BEGAN)
    for fact in _facts():
        records.append_fact(fact)
    records.close()
    with path.open("ab") as damaged:
        damaged.write(b"\xff" * 32)
    _write_samples(directory / str(FileName("samples", 0)))


def write_twin(logs: Path) -> None:
    """A healthy run of the same program, with a smaller batch."""
    directory = logs / "bs128" / HEALTH_DIRECTORY / TWIN_ATTEMPT
    directory.mkdir(parents=True)
    began = BEGAN - HOURS_BEFORE
    records = EventFile(directory / str(FileName("records", 0)), now=began)
    for fact in (
        facts.RunStarted(
            wall_time=began,
            host="node7",
            pid=4012,
            settings={"python": "3.11.7", "tensorflow": "2.21.0"},
        ),
        facts.TrainingStarted(
            wall_time=began,
            training=0,
            planned_epochs=1,
            planned_steps_per_epoch=1_000,
            settings={"batch_size": "128"},
        ),
        facts.TrainingEnded(
            wall_time=began + 2_520, step=1_000, training=0, epochs_done=1
        ),
        facts.RunEnded(wall_time=began + 2_520, step=1_000, reason="finished"),
    ):
        records.append_fact(fact)
    records.close()
    path = directory / str(FileName("samples", 0))
    _write_samples(path, began, last_step=1_000, grows=False)


def write_workers(logs: Path) -> None:
    """Two workers, of which one is killed while the other one waits for it."""
    for rank, seconds in ((0, 60), (1, 40)):
        directory = logs / "two" / HEALTH_DIRECTORY / f"worker{rank}"
        directory.mkdir(parents=True)
        settings = worker_settings(rank)
        records = EventFile(directory / str(FileName("records", 0)), now=BEGAN)
        for fact in (
            facts.RunStarted(
                wall_time=BEGAN, host="node7", pid=90 + rank, settings=settings
            ),
            facts.TrainingStarted(wall_time=BEGAN, training=0),
            facts.ProcessEnded(wall_time=BEGAN + seconds, signal=9 if rank else 15),
        ):
            records.append_fact(fact)
        records.close()
        path = directory / str(FileName("samples", 0))
        file = SampleFile(path, ["step"], period_seconds=1.0, now=BEGAN)
        for second in range(seconds):
            file.append(BEGAN + second, [float(min(second, 39) * 4)])
        file.close()


def _facts() -> list[facts.Fact]:
    return [
        facts.RunStarted(
            wall_time=BEGAN,
            host="node7",
            pid=4711,
            settings={"python": "3.11.7", "tensorflow": "2.21.0"},
            not_recorded=(
                facts.NotRecorded(
                    what="how the process ended, if it was killed",
                    why="nothing outside the training was watching it",
                ),
            ),
        ),
        facts.TrainingStarted(
            wall_time=BEGAN,
            training=0,
            initial_epoch=0,
            planned_epochs=10,
            planned_steps_per_epoch=1_000,
            first_step=0,
            settings={"batch_size": "512", "data.stages": "TFRecord, Map, Batch"},
            layers=(
                facts.Layer(name="dense", kind="Dense", activation="relu", units=64),
            ),
            variables=(
                facts.Variable(name="dense/kernel", layer="dense", size=640),
                facts.Variable(name="dense/bias", layer="dense", size=64),
            ),
        ),
        facts.BatchSeen(
            wall_time=BEGAN + 1,
            training=0,
            fields=(
                facts.Field(
                    name="x",
                    role="input",
                    dtype="float32",
                    shape=(512, 10),
                    minimum=0.0,
                    maximum=1.0,
                    mean=0.5,
                    std=0.29,
                    nonfinite_count=0,
                ),
            ),
        ),
        facts.Inspected(
            wall_time=BEGAN + 2,
            step=1,
            training=0,
            gradient_norm=5.0,
            has_gradient=(1.0, 1.0),
            gradient_norms=(3.0, 4.0),
            weight_norms=(6.0, 8.0),
            update_norms=(0.03, 0.04),
            output_zero_fractions=(0.5,),
            output_dead_fractions=(0.0,),
            output_saturated_fractions=(math.nan,),
        ),
        facts.TimeSpent(
            wall_time=BEGAN + 2_000,
            step=1_000,
            training=0,
            epoch=0,
            since=BEGAN,
            seconds=2_000.0,
            steps=1_000,
            wait_seconds=240.0,
            step_seconds=1_700.0,
        ),
        facts.EpochEnded(
            wall_time=BEGAN + 2_000,
            step=1_000,
            epoch=0,
            first_step=0,
            last_step=1_000,
            planned_steps=1_000,
            started_at=BEGAN,
            metrics={"loss": 0.41},
        ),
        facts.RunEnded(
            wall_time=ENDED,
            step=1_234,
            reason="exception",
            exception="ValueError",
            message="bad batch",
            text="Traceback (most recent call last): …",
            file="train.py",
            line=41,
            last_step=1_234,
            training_under_way=True,
        ),
    ]


def _write_samples(
    path: Path, began: float = BEGAN, *, last_step: int = 1_234, grows: bool = True
) -> None:
    """One a second, but for a pause of ten minutes."""
    names = ("step", "epoch", "loss", "host_memory_total_bytes", *MEMORY)
    file = SampleFile(path, names, period_seconds=1.0, now=began)
    for second in range(2_521):
        if 1_200 <= second < 1_800:
            continue
        step = min(last_step, second // 2)
        growth = 1.0 + 14.0 * second / 2_520 if grows else 1.0
        memory = [GIB * 16, MEMORY["process_rss_bytes"] * growth, GIB * 15.5]
        file.append(began + second, [step, step // 1_000, 0.5, *memory])
    file.close()


def main() -> None:
    """Writes the examples of `http_api.md` anew."""
    with tempfile.TemporaryDirectory() as folder:
        real = answers(Path(folder))

    def block(found: "re.Match[str]") -> str:
        if found[2] not in real:
            return found[0]
        text = json.dumps(real[found[2]], indent=2, ensure_ascii=False)
        return f"{found[1]}{text}\n{found[4]}"

    DOCUMENT.write_text(BLOCK.sub(block, DOCUMENT.read_text()))


if __name__ == "__main__":
    main()
