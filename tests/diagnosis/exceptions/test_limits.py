"""Limits of the system, and what only sounds like them."""

import pytest

from tb_health_plugin.events import facts
from tests.diagnosis.exceptions.raising import in_graph, in_python, raised

FORK = (
    'Traceback (most recent call last):\n  File "/usr/lib/python3.11/multiprocessing/'
    'popen_fork.py", line 66, in _launch\n    self.pid = os.fork()\n'
    "BlockingIOError: [Errno 11] Resource temporarily unavailable"
)
FULL = "[Errno 28] No space left on device: '/data/checkpoints/ck-006.keras'"


class TestHandles:
    @pytest.mark.parametrize(
        ("exception", "message", "detail"),
        [
            ("OSError", "[Errno 24] Too many open files: '/data/7.npy'", "files"),
            (
                "UnknownError",
                in_python("OSError: [Errno 24] Too many open files: 'x'"),
                "files",
            ),
            (
                "ResourceExhaustedError",
                in_graph("/data/7.tfrecord; Too many open files", "IteratorGetNext"),
                "files",
            ),
            ("OSError", "[Errno 23] Too many open files in system", "files"),
            ("RuntimeError", "can't start new thread", "threads"),
        ],
    )
    def test_which(self, exception: str, message: str, detail: str):
        told = raised(exception, message)

        assert (told.verdict.id, told.verdict.detail) == ("handle_limit", detail)

    def test_no_process_can_be_made(self):
        told = raised(
            "BlockingIOError", "[Errno 11] Resource temporarily unavailable", text=FORK
        )

        assert (told.verdict.id, told.verdict.detail) == ("handle_limit", "processes")

    def test_a_socket_that_is_not_ready_is_none(self):
        told = raised("BlockingIOError", "[Errno 11] Resource temporarily unavailable")

        assert told.verdict.id == "code_error"

    def test_in_a_callback_too(self):
        told = raised(
            "OSError", "[Errno 24] Too many open files", during="callback", callback="A"
        )

        assert told.verdict.id == "handle_limit"

    def test_the_count_is_told(self):
        samples = {
            "wall_time": [1.0, 2.0, 3.0, 4.0],
            "process_fds": [20.0, 90.0, 170.0, 250.0],
            "process_fd_limit": [256.0] * 4,
        }

        told = raised("OSError", "[Errno 24] Too many open files", samples=samples)

        assert told.verdict.evidence[-1].text == (
            "It had 20 open files at first and 250 of 256 allowed at last."
        )


class TestDisk:
    @pytest.mark.parametrize(
        ("exception", "message"),
        [
            ("OSError", FULL),
            ("OSError", "[Errno 122] Disk quota exceeded"),
            (
                "OSError",
                "[Errno 28] Can't write data (file write failed: time = Mon, "
                "errno = 28, error message = 'No space left on device')",
            ),
            ("ResourceExhaustedError", "/data/ck/a.tmp; No space left on device"),
            ("OSError", "360000 requested and 260064 written"),
        ],
    )
    def test_full(self, exception: str, message: str):
        told = raised(exception, message, during="callback", callback="ModelCheckpoint")

        assert told.verdict.id == "disk_full"
        assert told.headline.startswith("The disk was full at step 1,234")

    def test_the_path_and_what_was_kept(self):
        saves = [
            facts.Saved(
                wall_time=3.0,
                step=100,
                path=f"/data/checkpoints/ck-{number:03d}.keras",
                size_bytes=5 << 20,
                ok=True,
            )
            for number in range(6)
        ]

        told = raised("OSError", FULL, before=saves)

        assert told.verdict.place["path"] == "/data/checkpoints/ck-006.keras"
        assert "6 checkpoints had been written, 5.0 MiB each." in [
            one.text for one in told.verdict.evidence
        ]
        assert "save_best_only" in told.verdict.fixes[0].code
        assert told.verdict.fixes[1].code == "df -h /data/checkpoints"

    def test_a_command_to_paste_is_quoted(self):
        told = raised("OSError", "[Errno 28] No space left on device: '/a b/c;d/x'")

        assert told.verdict.fixes[-1].code == "df -h '/a b/c;d'"

    def test_another_error_of_a_file_is_none(self):
        assert raised("OSError", "[Errno 5] Input/output error").verdict.id == (
            "code_error"
        )
