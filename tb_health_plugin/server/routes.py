"""The routes: thin over `answers.py`. The API is described in `http_api.md`."""

import hashlib
import logging
import math
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tensorboard.backend import http_util
from werkzeug.wrappers import Request, Response

from tb_health_plugin.server import (
    answers,
    comparison,
    raw_events,
    report_page,
    training_page,
    workers,
)
from tb_health_plugin.server.errors import MethodNotAllowed, NotFound, RequestError
from tb_health_plugin.server.refresher import Refresher
from tb_health_plugin.server.view import View

_LOG = logging.getLogger("tb_health_plugin")
_STATIC = Path(__file__).with_name("static")
_DEFAULT_BUCKETS = 800
_DEFAULT_EVENTS = 200

Handler = Callable[[Request], Response]


class Routes:
    """All routes of the plugin.

    Args:
        view: What there is to show.
        refresher: Told that somebody looks.
        static: Where the built page lies.
    """

    def __init__(
        self, view: View, refresher: Refresher, *, static: Path = _STATIC
    ) -> None:
        self._view = view
        self._refresher = refresher
        self._static = static

    def apps(self) -> Mapping[str, Any]:
        """The WSGI apps by path, as TensorBoard wants them."""
        handlers: dict[str, Handler] = {
            "/index.js": self._page,
            "/runs": self._runs,
            "/run": self._run,
            "/lane": self._lane,
            "/compare": self._compare,
            "/workers": self._workers,
            "/training": self._training,
            "/events": self._events,
            "/report": self._report,
        }
        return {path: _app(handler) for path, handler in handlers.items()}

    def _page(self, request: Request) -> Response:
        file = self._static / "index.js"
        if not file.is_file():
            raise NotFound(
                "The page of Training Health is missing from this installation. "
                "Install tensorboard-plugin-health again."
            )
        code = file.read_bytes()
        etag = hashlib.sha256(code).hexdigest()[:32]
        return _answer(request, etag, lambda: code, "text/javascript")

    def _runs(self, request: Request) -> Response:
        self._refresher.asked()
        return _answer(
            request, self._view.version, lambda: answers.run_list(self._view)
        )

    def _run(self, request: Request) -> Response:
        self._refresher.asked()
        name = _required(request, "run")
        return _answer(
            request, self._version_of(name), lambda: answers.run_story(self._view, name)
        )

    def _lane(self, request: Request) -> Response:
        self._refresher.asked()
        name, lane = _required(request, "run"), _required(request, "lane")
        axis = request.args.get("axis", "time")
        begin = _number(request, "from", -math.inf)
        end = _number(request, "to", math.inf)
        buckets = int(_number(request, "buckets", _DEFAULT_BUCKETS))
        etag = f"{self._version_of(name)}-{lane}-{axis}-{begin}-{end}-{buckets}"
        return _answer(
            request,
            etag,
            lambda: answers.lane_points(
                self._view,
                name,
                lane,
                axis=axis,
                begin=begin,
                end=end,
                buckets=buckets,
            ),
        )

    def _compare(self, request: Request) -> Response:
        self._refresher.asked()
        a, b = _required(request, "a"), request.args.get("b") or None
        align = request.args.get("align", "step")
        letter = request.args.get("letter", "b")
        # Which run is picked depends on all of them.
        versions = f"{self._version_of(a)}-{self._version_of(b) if b else 'picked'}"
        etag = f"{versions}-{'' if b else self._view.version}-{a}-{b}-{align}-{letter}"
        return _answer(
            request,
            etag,
            lambda: comparison.compare_runs(self._view, a, b, align, letter),
        )

    def _workers(self, request: Request) -> Response:
        self._refresher.asked()
        name = _required(request, "run")
        quantity = request.args.get("quantity", "step_seconds")
        buckets = int(_number(request, "buckets", workers.DEFAULT_BUCKETS))
        etag = f"{self._version_of(name)}-workers-{quantity}-{buckets}"
        return _answer(
            request,
            etag,
            lambda: workers.worker_cells(self._view, name, quantity, buckets=buckets),
        )

    def _training(self, request: Request) -> Response:
        self._refresher.asked()
        name = _required(request, "run")
        return _answer(
            request,
            f"{self._version_of(name)}-training",
            lambda: training_page.training(self._view, name),
        )

    def _events(self, request: Request) -> Response:
        self._refresher.asked()
        name = _required(request, "run")
        limit = int(_number(request, "limit", _DEFAULT_EVENTS))
        return _answer(
            request,
            f"{self._version_of(name)}-events-{limit}",
            lambda: raw_events.raw_events(self._view, name, limit),
        )

    def _report(self, request: Request) -> Response:
        self._refresher.asked()
        runs = request.args.getlist("run")
        if not runs:
            raise RequestError('The parameter "run" is missing.')
        left_out = request.args.getlist("without")
        page = report_page.report_of(self._view, runs, leave_out=left_out)
        name = report_page.file_name(runs, time.time())
        # To be saved, never to be shown here: what is in it must not run in our origin.
        headers = [("Content-Disposition", f'attachment; filename="{name}"')]
        response: Response = http_util.Respond(
            request, page, "application/octet-stream", headers=headers
        )
        return response

    def _version_of(self, name: str) -> str:
        told = self._view.run(name)
        return told.version if told else "none"


def _app(handler: Handler) -> Any:
    """A WSGI app that turns errors into answers, in one place."""

    @Request.application
    def app(request: Request) -> Response:
        try:
            if request.method not in ("GET", "HEAD"):
                raise MethodNotAllowed(f"{request.method} is not answered; use GET.")
            return handler(request)
        except RequestError as error:
            return _error(request, error.code, str(error), error.status)
        except Exception:  # noqa: BLE001 - a fault costs this answer, nothing else
            _LOG.exception("Training Health could not answer %s", request.path)
            message = "Training Health failed here; TensorBoard's log says more."
            return _error(request, "internal", message, 500)

    return app


def _answer(
    request: Request,
    etag: str,
    content: Callable[[], Any],
    content_type: str = "application/json",
) -> Response:
    """Answers 304 without computing anything if the client has this version."""
    # Words of the user may be in the tag; a header takes only some characters.
    etag = hashlib.sha256(etag.encode("utf-8", "replace")).hexdigest()[:32]
    if etag in request.if_none_match:
        headers = {"ETag": f'"{etag}"', "Cache-Control": "no-cache, must-revalidate"}
        return Response(status=304, headers=headers)
    response: Response = http_util.Respond(
        request, content(), content_type, headers=[("ETag", f'"{etag}"')]
    )
    return response


def _error(request: Request, code: str, message: str, status: int) -> Response:
    content = {"error": {"code": code, "message": message}}
    response: Response = http_util.Respond(
        request, content, "application/json", code=status
    )
    return response


def _required(request: Request, name: str) -> str:
    value = request.args.get(name)
    if not value:
        raise RequestError(f'The parameter "{name}" is missing.')
    return value


def _number(request: Request, name: str, default: float) -> float:
    text = request.args.get(name)
    if text is None:
        return default
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise RequestError(f'{name}="{text[:100]}" is not a number.')
    return value
