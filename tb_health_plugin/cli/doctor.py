"""`tb-health doctor`: what can be measured on this machine, and how to get the rest."""

import argparse
import importlib.metadata
import importlib.util
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from rich.text import Text

from tb_health_plugin import __version__
from tb_health_plugin.cli.arguments import place
from tb_health_plugin.cli.printing import console, print_json
from tb_health_plugin.cli.waiting import waiting
from tb_health_plugin.collectors import available_collectors, settings_of
from tb_health_plugin.collectors.collector import Collector, Watched
from tb_health_plugin.events.tags import PLUGIN_NAME

State = Literal["ok", "missing", "broken"]
_SIGNS = {"ok": ("ok", "green"), "missing": ("--", "yellow"), "broken": ("!!", "red")}

# How to get what is missing, by words of the reason. What has no line here is a matter
# of the hardware or of the kernel.
_ENABLE = {
    "/proc/pressure": "start the kernel with psi=1",
}
_LEAST_KERNEL_FOR_EXIT = (6, 15)


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that may be there.

    Attributes:
        what: The thing.
        state: It works, it is not there, or it is there and does not work.
        found: What was seen, in a few words.
        enable: What to do to have it; None if there is nothing to do.
    """

    what: str
    state: State
    found: str
    enable: str | None = None


def add_parser(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "doctor", help="what can be measured on this machine, and what is missing"
    )
    parser.add_argument(
        "logdir", type=place, nargs="?", help="check that this directory can be used"
    )
    parser.add_argument("--json", action="store_true", help="print it for programs")
    parser.set_defaults(call=_call)


def _call(options: argparse.Namespace) -> int:
    with waiting("Looking at this machine"):
        checks = list(examine(options.logdir))
    if options.json:
        print_json([asdict(check) for check in checks])
    else:
        _print(checks)
    return int(any(check.state == "broken" for check in checks))


def examine(given: Path | str | None = None, root: Path = Path("/")) -> Iterator[Check]:
    """Everything that is worth knowing before a training is recorded."""
    yield from _versions()
    yield _plugin()
    logdir = given if isinstance(given, Path) else None
    yield from _sources(logdir, root)
    yield _exit_status()
    yield _py_spy(root)
    if logdir is not None:
        yield _writable(logdir.expanduser())
    elif given is not None:
        yield Check(
            f"log directory {given}",
            "broken",
            "is on an object store: it can be read, not recorded to",
            "record to a directory here and copy it; docs/workers.md says how",
        )


def _versions() -> Iterator[Check]:
    yield Check("Training Health", "ok", __version__)
    yield Check("Python", "ok", platform.python_version())
    for name, needed_by in (
        ("tensorboard", "the tab"),
        ("tensorflow", "the hook"),
        ("keras", "the hook"),
    ):
        try:
            yield Check(name, "ok", importlib.metadata.version(name))
        except importlib.metadata.PackageNotFoundError:
            why = f"not installed here; only {needed_by} needs it"
            yield Check(name, "missing", why, f"pip install {name}")


def _plugin() -> Check:
    """Whether TensorBoard of this environment will find the tab."""
    what = "tab in TensorBoard"
    points = importlib.metadata.entry_points(group="tensorboard_plugins")
    mine = [point for point in points if point.name == PLUGIN_NAME]
    again = "pip install --force-reinstall tensorboard-plugin-health"
    if not mine:
        return Check(what, "broken", "not registered in this environment", again)
    try:
        mine[0].load()
    except Exception as error:  # noqa: BLE001 - whatever it is, TensorBoard meets it too
        return Check(what, "broken", f"{type(error).__name__}: {error}", again)
    others = {point.value for point in mine}
    if len(others) > 1:
        return Check(what, "broken", "registered twice: TensorBoard will not start")
    return Check(what, "ok", "registered")


def _sources(logdir: Path | None, root: Path) -> Iterator[Check]:
    """Every source of numbers, tried once on the shell that started us.

    Not on this very process: as the watcher does, it looks at another one.
    """
    watched = Watched(
        pid=os.getppid(),
        logdir=logdir or Path(tempfile.gettempdir()),
        root=root,
        visible_gpus=os.environ.get("CUDA_VISIBLE_DEVICES"),
    )
    collectors, missing = available_collectors(watched)
    for collector in collectors:
        try:
            numbers = collector.collect()
        except Exception as error:  # noqa: BLE001 - told, and the next one is tried
            found = f"{type(error).__name__}: {error}"
            yield Check(collector.what, "broken", found)
        else:
            found = "measured" if numbers else "ready, no number yet"
            yield Check(collector.what, "ok", f"{found}{_models(collector)}")
    for one in missing:
        enable = next((e for words, e in _ENABLE.items() if words in one.why), None)
        yield Check(one.what, "missing", one.why, enable)


def _models(collector: Collector) -> str:
    """Which GPUs they are, and with which driver; empty for other sources."""
    told = settings_of([collector])
    names = [told[name] for name in sorted(told) if name.endswith(".name")]
    if not names:
        return ""
    count = {name: names.count(name) for name in names}
    each = [f"{n} x {name}" if n > 1 else name for name, n in count.items()]
    unknown = "unknown"
    return (
        f": {', '.join(each)} (driver {told.get('gpu.driver', unknown)}, "
        f"CUDA {told.get('gpu.cuda', unknown)})"
    )


def _exit_status() -> Check:
    what = "exit status of others' processes"
    release = platform.release()
    numbers = tuple(int(n) for n in release.split("-")[0].split(".")[:2] if n.isdigit())
    if sys.platform == "linux" and numbers >= _LEAST_KERNEL_FOR_EXIT:
        return Check(what, "ok", f"Linux {release}")
    return Check(
        what,
        "missing",
        f"{platform.system()} {release}: seen only in the moment before it is reaped",
        "start the training with tb-health run, which is its parent",
    )


def _py_spy(root: Path) -> Check:
    what = "native frames of a hang (py-spy)"
    beside = Path(sys.executable).with_name("py-spy")
    program = str(beside) if beside.exists() else shutil.which("py-spy")
    if program is None:
        install = "pip install 'tensorboard-plugin-health[stacks]'"
        return Check(what, "missing", "not installed", install)
    scope = _read(root / "proc/sys/kernel/yama/ptrace_scope")
    if os.geteuid() != 0 and scope not in (None, "0"):
        return Check(
            what,
            "missing",
            f"{program}, but ptrace_scope is {scope}: only root may look",
            "sudo sysctl kernel.yama.ptrace_scope=0",
        )
    return Check(what, "ok", program)


def _writable(logdir: Path) -> Check:
    what = f"log directory {logdir}"
    # A look changes nothing: what is not there yet is only looked for.
    above = next(one for one in (logdir, *logdir.absolute().parents) if one.exists())
    try:
        with tempfile.TemporaryFile(dir=above):
            pass
    except OSError as error:
        return Check(what, "broken", error.strerror or str(error), "choose another one")
    free = shutil.disk_usage(above).free
    can = "can be written" if above == logdir else "is not there yet, and can be made"
    return Check(what, "ok", f"{can}, {free / (1 << 30):.1f} GiB free")


def _read(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:
        return None


def _print(checks: list[Check]) -> None:
    printed = console(widest=None)
    width = max(len(check.what) for check in checks)
    for check in checks:
        sign, style = _SIGNS[check.state]
        line = Text.assemble((sign, style), f"  {check.what:{width}}  {check.found}")
        printed.print(line, soft_wrap=True)
        if check.enable:
            enable = Text(f"    {'':{width}}  to have it: {check.enable}", "dim")
            printed.print(enable, soft_wrap=True)
