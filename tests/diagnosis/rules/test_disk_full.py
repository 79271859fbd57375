"""Disks that fill up, said or not said, and disks that are only small."""

import numpy as np

from tb_health_plugin.diagnosis.rules.disk_full import RULE
from tb_health_plugin.diagnosis.verdict import Verdict
from tb_health_plugin.events import facts
from tests.diagnosis.rules.histories import (
    MIB,
    START,
    ask,
    run_started,
    seconds_of,
    training_ended,
    training_started,
)

COUNT = 30


def run(*told, **columns):
    samples = {
        "wall_time": seconds_of(COUNT),
        "step": [10 * second for second in range(COUNT)],
        **columns,
    }
    return ask(
        RULE,
        run_started(),
        training_started(),
        *told,
        training_ended(COUNT, 300),
        samples=samples,
    )


class TestFull:
    def test_room_for_the_log_is_gone_and_nothing_raised(self):
        free = np.maximum(0.0, np.linspace(40, -10, COUNT)) * MIB

        found = run(logdir_disk_free_bytes=free)

        assert isinstance(found, Verdict)
        assert found.detail == "log"
        assert found.severity == "warning"
        assert found.confidence == "likely"
        assert found.cause_at.step == 230
        assert "checkpoint_failure" in found.explains

    def test_no_more_files_can_be_made(self):
        found = run(logdir_disk_free_inodes=np.linspace(5_000, 0, COUNT))

        assert isinstance(found, Verdict)

    def test_a_disk_of_files_that_it_keeps_open(self):
        free = np.maximum(0.0, np.linspace(16, -10, COUNT)) * MIB

        found = run(
            files_disk_free_bytes=free, files_disk_total_bytes=[16.0 * MIB] * COUNT
        )

        assert isinstance(found, Verdict)
        assert found.detail == "files"
        assert found.headline == (
            "The disk of files that the training writes filled up at step 170"
        )
        assert found.evidence[0].text.endswith("That disk holds 16 MiB in all.")

    def test_our_own_files_met_it(self):
        stopped = facts.RecordingStopped(
            wall_time=START + 9,
            what="samples",
            why="OSError: [Errno 28] No space left on device",
            began_at=START + 8,
        )

        found = run(stopped)

        assert isinstance(found, Verdict)
        assert found.confidence == "proven"
        assert found.cause_at.wall_time == START + 8

    def test_a_warning_names_the_path(self):
        said = facts.ProgramSaid(
            wall_time=START + 9,
            step=90,
            message="could not log: [Errno 28] No space left on device: '/data/a.log'",
        )

        found = run(said)

        assert isinstance(found, Verdict)
        assert found.detail == "/data/a.log"

    def test_checkpoints_that_were_kept_are_counted(self):
        saves = [
            facts.Saved(
                wall_time=START + n,
                training=0,
                path=f"/data/{n}.keras",
                size_bytes=5 * MIB,
                ok=True,
            )
            for n in range(4)
        ]

        found = run(*saves, logdir_disk_free_bytes=np.linspace(40, 0, COUNT) * MIB)

        assert isinstance(found, Verdict)
        assert found.fixes[0].why == "4 were kept, of up to 5.0 MiB each."


def broken_off(free):
    samples = {"wall_time": seconds_of(3), "logdir_disk_free_bytes": [free] * 3}
    return ask(RULE, run_started(), training_started(), samples=samples)


def test_a_record_that_breaks_off_where_little_room_was():
    found = broken_off(12.0 * MIB)

    assert isinstance(found, Verdict)
    assert found.confidence == "possible"
    assert found.headline.startswith("Probably the disk of the log directory")
    assert "unknown" in found.explains


def test_a_record_that_breaks_off_where_room_was():
    assert broken_off(9_000.0 * MIB) is None


class TestHealthy:
    def test_a_disk_that_is_nearly_full_all_the_time(self):
        assert run(logdir_disk_free_bytes=[2.0 * MIB] * COUNT) is None

    def test_a_file_system_that_tells_no_numbers(self):
        assert run(logdir_disk_free_bytes=[0.0] * COUNT) is None

    def test_one_without_a_number_of_files(self):
        assert run(logdir_disk_free_inodes=[0.0] * COUNT) is None

    def test_room_that_shrinks_and_is_left(self):
        assert run(logdir_disk_free_bytes=np.linspace(900, 60, COUNT) * MIB) is None

    def test_recording_that_stopped_for_another_reason(self):
        stopped = facts.RecordingStopped(
            wall_time=START, what="samples", why="PermissionError: [Errno 13]"
        )

        assert run(stopped) is None

    def test_nothing_was_recorded(self):
        assert ask(RULE) is None
