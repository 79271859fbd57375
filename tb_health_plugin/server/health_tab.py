"""The Training Health tab, as TensorBoard sees it."""

from typing import TYPE_CHECKING

from tensorboard.plugins import base_plugin

from tb_health_plugin.events.tags import PLUGIN_NAME
from tb_health_plugin.reading.library import Library
from tb_health_plugin.reading.log_directory import parse_roots
from tb_health_plugin.server.refresher import Refresher
from tb_health_plugin.server.routes import Routes
from tb_health_plugin.server.view import View

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_DEFAULT_RELOAD_SECONDS = 5.0


class HealthTab(base_plugin.TBPlugin):
    """Serves the page and the routes, and reads the log directory behind them."""

    plugin_name = PLUGIN_NAME

    def __init__(self, context: base_plugin.TBContext) -> None:
        flags = context.flags
        roots = parse_roots(
            getattr(flags, "logdir", "") or context.logdir or "",
            getattr(flags, "logdir_spec", "") or "",
        )
        interval = getattr(flags, "reload_interval", _DEFAULT_RELOAD_SECONDS)
        self._view = View(Library(roots), context.data_provider)
        self._refresher = Refresher(
            self._view.refresh, float(interval), has_some=lambda: self._view.has_runs
        )
        self._refresher.start()

    def get_plugin_apps(self) -> "Mapping[str, Any]":
        return Routes(self._view, self._refresher).apps()

    def is_active(self) -> bool:
        # From the first run on, monitored or not: newcomers find here what to paste.
        # TensorBoard asks once a page: who is told "nothing" gets no tab.
        self._refresher.asked(urgent=not self._view.has_runs)
        return self._view.has_runs

    def frontend_metadata(self) -> base_plugin.FrontendMetadata:
        # Literals only: if this raises, TensorBoard loses every tab.
        return base_plugin.FrontendMetadata(
            es_module_path="/index.js", tab_name="Training Health"
        )
