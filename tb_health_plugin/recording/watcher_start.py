"""Starts the watcher: a small Python of its own that never sees TensorFlow."""

import importlib.util
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import google.protobuf
import google_crc32c
import tensorboard

import tb_health_plugin
from tb_health_plugin.writing.black_box import BlackBox

# No site, no environment, nothing of the user's: only what the watcher needs. It
# leaves its parent at once, so that a program that waits for "any child" never
# meets it, and nobody has to clean up after it.
_BOOT = (
    "import os, sys\n"
    "if os.fork(): os._exit(0)\n"
    "sys.path[:0] = sys.argv[1].split(os.pathsep)\n"
    "from tb_health_plugin.watching.watcher import main\n"
    "main(*map(int, sys.argv[2:]))\n"
)
_BOOT_SECONDS = 10.0
# Until it has a session of its own, a Ctrl-C meant for the program reaches it too.
_NOT_FOR_IT = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP)


def start_watcher(
    box: BlackBox, stacks_fd: int, born: Callable[[], None] = lambda: None
) -> str:
    """Starts a watcher on this process; returns why there is none, or nothing.

    Args:
        box: Where it finds what the trainer hands over.
        stacks_fd: Where it finds stacks.
        born: Called as soon as it would outlive this process.
    """
    if not sys.executable or not hasattr(os, "fork"):
        return "this Python cannot start another one"
    try:
        process_fd = os.pidfd_open(os.getpid())
    except (AttributeError, OSError):
        process_fd = -1
    fds = [fd for fd in (box.fd, stacks_fd, process_fd) if fd >= 0]
    command = [sys.executable, "-I", "-S", "-c", _BOOT, os.pathsep.join(_paths())]
    # The new process inherits this.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _NOT_FOR_IT)
    try:
        boot = subprocess.Popen(
            [*command, str(box.fd), str(stacks_fd), str(process_fd)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env=_environment(),
            pass_fds=fds,
            start_new_session=True,
        )
        born()
        status = boot.wait(_BOOT_SECONDS)
    except (OSError, subprocess.SubprocessError) as error:
        return f"the watcher could not be started: {error}"
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if process_fd >= 0:
            os.close(process_fd)
    return f"the watcher ended with status {status}" if status else ""


def _environment() -> dict[str, str]:
    """Nothing of the user's but where libraries lie.

    Some containers have NVIDIA's there alone, and some systems Python's own.
    """
    kept = {"PYTHONHASHSEED": "0"}
    if "LD_LIBRARY_PATH" in os.environ:
        kept["LD_LIBRARY_PATH"] = os.environ["LD_LIBRARY_PATH"]
    return kept


def _paths() -> list[str]:
    """Where the few packages lie that the watcher imports."""
    files = [
        tb_health_plugin.__file__,
        tensorboard.__file__,
        google_crc32c.__file__,
        # google is a namespace: the folder above google/protobuf/.
        str(Path(google.protobuf.__file__).parent),
    ]
    folders = [str(Path(file).parent.parent) for file in files]
    # Found and not imported: only the watcher ever talks to the driver of a GPU.
    nvml = importlib.util.find_spec("pynvml")
    if nvml is not None and nvml.origin:
        up = 2 if nvml.submodule_search_locations else 1
        folders.append(str(Path(nvml.origin).parents[up - 1]))
    return list(dict.fromkeys(folders))
