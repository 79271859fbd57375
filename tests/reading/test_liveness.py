"""Does the process of an attempt still live? As far as can be known."""

import os
import socket
import subprocess
import sys
from pathlib import Path

from tb_health_plugin.events import facts
from tb_health_plugin.reading.liveness import is_alive, life_of
from tb_health_plugin.reading.run_history import Attempt
from tb_health_plugin.reading.table import TIME
from tb_health_plugin.recording import this_process


def started(pid: int, **changes) -> facts.RunStarted:
    known = {
        "boot_id": this_process.boot_id(),
        "process_start_ticks": this_process.start_ticks(pid),
    }
    return facts.RunStarted(wall_time=1.0, pid=pid, **{**known, **changes})


def seen_at(*times: float, period: float = 1.0) -> Attempt:
    attempt = Attempt("a")
    attempt.period_seconds = period
    attempt.samples.append({TIME: list(times)})
    return attempt


def test_this_process_lives():
    assert is_alive(started(os.getpid())) is True


def test_a_process_that_ended_does_not():
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    start = started(child.pid)
    child.communicate()

    assert is_alive(start) is False


def test_a_zombie_does_not():
    child = subprocess.Popen([sys.executable, "-c", ""], stdin=subprocess.DEVNULL)
    start = started(child.pid)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)

    assert is_alive(start) is False
    child.wait()


def test_another_process_with_the_same_id_is_not_it():
    assert is_alive(started(os.getpid(), process_start_ticks=1)) is False


def test_a_process_of_another_machine_cannot_be_asked():
    assert is_alive(started(os.getpid(), boot_id="other")) is None


def test_where_there_is_no_proc_nobody_knows(tmp_path: Path):
    assert is_alive(started(os.getpid()), root=tmp_path) is None


def test_elsewhere_a_fresh_record_counts_as_a_sign_of_life(tmp_path: Path):
    assert life_of(seen_at(1_000.0), 1_059.0, root=tmp_path).alive
    assert not life_of(seen_at(1_000.0), 1_061.0, root=tmp_path).alive


def test_a_slow_sampler_is_given_more_time(tmp_path: Path):
    assert life_of(seen_at(0.0, period=60.0), 599.0, root=tmp_path).alive


def test_a_process_of_a_container_cannot_be_asked():
    assert is_alive(started(os.getpid(), host="c0ffee")) is None


class TestAProcessThatIsNotFound:
    def life(self, *, silent: float, recorded_by: str = "watcher"):
        attempt = seen_at(1_000.0)
        # Another process has this number here.
        attempt.add(
            started(os.getpid(), process_start_ticks=1, recorded_by=recorded_by)
        )
        return life_of(attempt, 1_000.0 + silent)

    def test_its_watcher_still_writes(self):
        life = self.life(silent=5.0)

        assert (life.alive, life.end_due) == (True, True)

    def test_its_watcher_is_silent_too(self):
        life = self.life(silent=11.0)

        assert (life.alive, life.watcher_gone) == (False, True)
        assert not life.end_due

    def test_it_was_its_own_writer(self):
        life = self.life(silent=5.0, recorded_by="thread")

        assert (life.alive, life.watcher_gone) == (False, False)


def test_how_one_ended_that_is_not_reaped_yet_is_being_written():
    child = subprocess.Popen([sys.executable, "-c", ""], stdin=subprocess.DEVNULL)
    attempt = seen_at(1_000.0)
    attempt.add(started(child.pid, recorded_by="watcher"))
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)

    soon, late = life_of(attempt, 1_001.0), life_of(attempt, 1_011.0)

    child.wait()
    assert (soon.alive, soon.end_due, soon.watcher_gone) == (False, True, False)
    assert (late.alive, late.end_due, late.watcher_gone) == (False, False, True)


class TestAMachineThatWasStartedAgain:
    NOW = 10_000.0

    def life(self, tmp_path: Path, *, host: str = "", last_seen: float = 9_000.0):
        kernel = tmp_path / "proc/sys/kernel/random"
        kernel.mkdir(parents=True)
        (kernel / "boot_id").write_text("this-boot\n")
        (tmp_path / "proc/uptime").write_text("900.00 1800.00\n")
        attempt = seen_at(last_seen)
        attempt.add(
            facts.RunStarted(
                wall_time=last_seen,
                pid=1,
                boot_id="an-earlier-boot",
                host=host or socket.gethostname(),
            )
        )
        return life_of(attempt, self.NOW, root=tmp_path)

    def test_it_is_told_how_soon_after(self, tmp_path: Path):
        life = self.life(tmp_path)

        assert not life.alive
        assert life.restarted_after_seconds == 100.0

    def test_another_machine_is_not_asked(self, tmp_path: Path):
        life = self.life(tmp_path, host="elsewhere")

        assert life.restarted_after_seconds is None

    def test_a_run_that_was_seen_after_the_start_was_elsewhere(self, tmp_path: Path):
        assert self.life(tmp_path, last_seen=9_990.0).restarted_after_seconds is None
