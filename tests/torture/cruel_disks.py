"""Takes the log directory away in every way a disk can, while a training records."""

import contextlib
import os
import random
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from demo.tensorboard_server import wait_until
from tb_health_plugin.diagnosing import NothingRecorded
from tests.torture.chamber import Broken, Chamber
from tests.torture.victim import Victim, victim


def fill_it(rng: random.Random, one: Victim, disk: Path) -> None:
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(rng.choice((512, 4_096))))
    one.live_for(rng)
    if rng.random() < 0.5:
        filler.unlink()


def make_it_read_only(rng: random.Random, one: Victim, disk: Path) -> None:
    # The kernel refuses as long as a file is open for writing, which is often.
    if _quietly("mount", "-o", "remount,ro", str(disk)) == 0:
        one.live_for(rng)
        if rng.random() < 0.5:
            _mount("-o", "remount,rw", str(disk))


def remove_the_files(rng: random.Random, one: Victim, disk: Path) -> None:
    shutil.rmtree(one.logdir / "plugins", ignore_errors=True)


def move_it_away(rng: random.Random, one: Victim, disk: Path) -> None:
    away = one.logdir.with_name("away")
    one.logdir.rename(away)
    one.live_for(rng)
    if rng.random() < 0.5 and not one.logdir.exists():
        away.rename(one.logdir)


def put_a_file_in_its_place(rng: random.Random, one: Victim, disk: Path) -> None:
    shutil.rmtree(one.logdir, ignore_errors=True)
    with contextlib.suppress(OSError):
        one.logdir.write_text("no directory")


def forbid_it(rng: random.Random, one: Victim, disk: Path) -> None:
    for path in (one.logdir, *one.logdir.rglob("*")):
        with contextlib.suppress(OSError):
            path.chmod(0)


ATTACKS = (
    fill_it,
    make_it_read_only,
    remove_the_files,
    move_it_away,
    put_a_file_in_its_place,
    forbid_it,
)


def torture(rng: random.Random, counts: Counter[str]) -> None:
    if os.geteuid() != 0:
        counts["skipped: only root may mount a small disk"] += 1
        return
    attack = rng.choice(ATTACKS)
    counts[attack.__name__.replace("_", " ")] += 1
    with small_disk(rng.choice(("256k", "1m", "4m"))) as disk, victim(disk) as one:
        one.live_for(rng)
        if one.process.poll() is None:
            attack(rng, one, disk)
        one.must_finish_well()
        if one.errors.count("Training Health stopped recording") > 1:
            raise Broken(f"said more than once: {one.errors}")
        # What is left must be readable, or be told as absent, and nothing else.
        with contextlib.suppress(NothingRecorded, NotADirectoryError):
            one.story()


@contextlib.contextmanager
def small_disk(size: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        disk = Path(folder, "disk")
        disk.mkdir()
        _mount("-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(disk))
        try:
            yield disk
        finally:
            wait_until(lambda: not _quietly("umount", str(disk)))


def _mount(*arguments: str) -> None:
    if _quietly("mount", *arguments):
        raise RuntimeError(f"mount {' '.join(arguments)} failed")


def _quietly(*command: str) -> int:
    return subprocess.run(command, capture_output=True, check=False).returncode


CHAMBER = Chamber(
    name="disks",
    promise="whatever happens to the log directory, the training ends as it would",
    round=torture,
    share=2.0,
)
