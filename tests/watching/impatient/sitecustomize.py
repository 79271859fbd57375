"""A less patient watcher for every Python that finds this file first.

The times of its judge by a fifth or less, so that the tests need not wait.
"""

from tb_health_plugin.recording import watcher_start

_START = "from tb_health_plugin.watching.watcher import main\n"
_IMPATIENT = (
    "import tb_health_plugin.watching.stall as stall\n"
    "stall.SHORTEST_SECONDS, stall.REACTION_SECONDS = 2.0, 0.4\n"
    "stall.IDLE_SECONDS = stall.PREPARING_IDLE_SECONDS = 4.0\n"
    "import tb_health_plugin.watching.stall_watch as stall_watch\n"
    "stall_watch.LOOK_SECONDS = 0.2\n"
    "import tb_health_plugin.watching.forecast as forecast\n"
    "forecast.WINDOW_SECONDS = 8.0\n"
)

watcher_start._BOOT = watcher_start._BOOT.replace(_START, _IMPATIENT + _START)
