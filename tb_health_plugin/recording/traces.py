"""Finds the user's own line in a traceback full of library frames."""

import site
import sysconfig
import traceback
from types import TracebackType


def innermost_user_frame(
    trace: TracebackType | None,
) -> traceback.FrameSummary | None:
    """The deepest frame that is neither a library's nor ours; else the deepest."""
    frames = traceback.extract_tb(trace)
    own = [frame for frame in frames if not is_library(frame.filename)]
    candidates = own or list(frames)
    return candidates[-1] if candidates else None


def is_library(filename: str) -> bool:
    """True for files of installed packages, the standard library and ourselves."""
    return filename.startswith(("<frozen", *_library_roots()))


def _library_roots() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    roots = {paths["stdlib"], paths["platstdlib"], paths["purelib"], paths["platlib"]}
    roots.update(site.getsitepackages())
    roots.add(__file__.rsplit("/", 2)[0])
    return tuple(roots)
