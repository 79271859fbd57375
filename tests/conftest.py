"""What many tests need: recorded attempts without a training."""

import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tb_health_plugin.events import facts
from tb_health_plugin.events.attempt import HEALTH_DIRECTORY, FileName
from tb_health_plugin.events.event_file import EventFile
from tb_health_plugin.events.sample_file import SampleFile

WriteAttempt = Callable[..., Path]

# How long an example takes says how busy the machine is, not what is right.
settings.register_profile(
    "any_machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any_machine")


def pytest_configure() -> None:
    """Lets signals end the programs under test, however the tests were started.

    What `nohup`, a shell's `&` or a worker of pytest-xdist ignores, its children ignore
    too. A handler is not handed down.
    """
    for name in ("SIGINT", "SIGHUP", "SIGTERM", "SIGQUIT"):
        number = getattr(signal, name)
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


def worker_settings(rank: int, size: int = 2, **more: str) -> dict[str, str]:
    """What one of several workers says of itself in its start record."""
    return {
        "worker.by": "TF_CONFIG",
        "worker.role": "worker",
        "worker.rank": str(rank),
        "worker.size": str(size),
        "worker.job": "j",
        **{f"worker.{name}": value for name, value in more.items()},
    }


@pytest.fixture
def write_attempt(tmp_path: Path) -> WriteAttempt:
    """Writes the files of an attempt as the recorder would."""

    def write(
        run: str = "run",
        *,
        id: str = "a1",
        told: Sequence[facts.Fact] = (),
        samples: Sequence[tuple[float, Mapping[str, float]]] = (),
        period_seconds: float = 1.0,
    ) -> Path:
        directory = tmp_path / "logs" / run / HEALTH_DIRECTORY / id
        directory.mkdir(parents=True)
        records = EventFile(directory / str(FileName("records", 0)), now=1.0)
        for fact in told:
            records.append_fact(fact)
        records.close()
        if samples:
            columns = list(samples[0][1])
            path = directory / str(FileName("samples", 0))
            file = SampleFile(path, columns, period_seconds=period_seconds, now=1.0)
            for wall_time, numbers in samples:
                file.append(wall_time, [numbers[column] for column in columns])
            file.close()
        return directory

    return write


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """The log directory that `write_attempt` writes to."""
    path = tmp_path / "logs"
    path.mkdir(exist_ok=True)
    return path
