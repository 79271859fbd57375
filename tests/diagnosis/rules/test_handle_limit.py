"""Files, threads and processes that run out, and those that are only many."""

import numpy as np

from tb_health_plugin.diagnosis.rules.handle_limit import RULE
from tb_health_plugin.diagnosis.verdict import Verdict
from tb_health_plugin.events import facts
from tests.diagnosis.rules.histories import (
    START,
    ask,
    run_started,
    seconds_of,
    training_started,
)

COUNT = 60


def run(*told, **columns):
    samples = {
        "wall_time": seconds_of(COUNT),
        "step": [10 * second for second in range(COUNT)],
        **columns,
    }
    return ask(RULE, run_started(), training_started(), *told, samples=samples)


def limit(of):
    return [float(of)] * COUNT


class TestFound:
    def test_open_files_that_rise_to_the_limit(self):
        found = run(
            process_fds=np.linspace(50, 900, COUNT), process_fd_limit=limit(1024)
        )

        assert isinstance(found, Verdict)
        assert found.detail == "files"
        assert found.severity == "warning"
        assert found.headline == "900 of 1,024 open files are in use, and rising"

    def test_few_samples_of_which_the_last_is_at_the_edge(self):
        fds = np.full(COUNT, np.nan)
        fds[[0, 5, 10]] = [20, 110, 250]

        found = run(process_fds=fds, process_fd_limit=limit(256))

        assert isinstance(found, Verdict)

    def test_processes_that_the_kernel_refused(self):
        denied = [3.0] * 30 + [8.0] * 30

        found = run(cgroup_pids_denied=denied, cgroup_pids_limit=limit(100))

        assert isinstance(found, Verdict)
        assert found.confidence == "proven"
        assert found.cause_at.step == 300
        assert "refused 5 new" in found.evidence[0].text

    def test_an_error_that_the_program_only_logged(self):
        said = facts.ProgramSaid(
            wall_time=START + 9,
            step=90,
            level="error",
            message="skipped a file: [Errno 24] Too many open files: 'a.npy'",
        )

        found = run(said)

        assert isinstance(found, Verdict)
        assert found.detail == "files"
        assert found.severity == "warning"
        assert "a.npy" in found.evidence[0].text


class TestHealthy:
    def test_many_files_that_stay_many(self):
        assert run(process_fds=limit(900), process_fd_limit=limit(1024)) is None

    def test_files_that_rise_far_from_the_limit(self):
        fds = np.linspace(10, 200, COUNT)

        assert run(process_fds=fds, process_fd_limit=limit(65_536)) is None

    def test_a_pool_that_fills_up_once(self):
        fds = [50.0] * 10 + [700.0] * 50

        assert run(process_fds=fds, process_fd_limit=limit(1024)) is None

    def test_refusals_from_before_the_run(self):
        assert run(cgroup_pids_denied=limit(7), cgroup_pids_limit=limit(100)) is None

    def test_no_limit(self):
        assert run(process_fds=np.linspace(50, 9_000, COUNT)) is None

    def test_a_lock_that_was_taken_is_no_limit(self):
        said = facts.ProgramSaid(
            wall_time=START, message="[Errno 11] Resource temporarily unavailable"
        )

        assert run(said) is None

    def test_nothing_was_recorded(self):
        assert ask(RULE) is None
