"""Which task of a cluster a process is, as far as it was recorded."""

import re

from tb_health_plugin.reading.run_history import Attempt

# As `recording` words TF_CONFIG: "task worker 0, cluster worker 2, ps 1".
_CONFIG = re.compile(r"task (\w+) (\d+), cluster (.*)")


def own_task(attempt: Attempt) -> str | None:
    """As in "worker 0"; None if the process is not one of several."""
    found = _config(attempt)
    return f"{found[1]} {found[2]}" if found and tasks(attempt) > 1 else None


def tasks(attempt: Attempt) -> int:
    """Tasks of the cluster; 0 if there is none."""
    found = _config(attempt)
    if not found:
        return 0
    return sum(int(count) for count in re.findall(r"\w+ (\d+)", found[3]))


def _config(attempt: Attempt) -> re.Match[str] | None:
    settings = attempt.start.settings if attempt.start else {}
    return _CONFIG.match(settings.get("env.TF_CONFIG", ""))
