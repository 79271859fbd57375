"""An S3 server of this machine that counts what is asked of it."""

import contextlib
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

BUCKET = "training"


class S3Server:
    """A bucket, and how it was used.

    Attributes:
        url: Where it answers.
        requests: How often each kind of request came.
        sent: Bytes of objects that were handed out.
    """

    def __init__(self) -> None:
        self._app = DomainDispatcherApplication(create_backend_app)
        self._server = make_server("127.0.0.1", 0, self._answer, threaded=True)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self.requests: Counter[str] = Counter()
        self.sent = 0
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()
        self.client: Any = boto3.client("s3", endpoint_url=self.url)
        self.client.create_bucket(Bucket=BUCKET)

    def put(self, logs: Path) -> None:
        """Copies a directory, as `aws s3 sync` does."""
        for file in sorted(path for path in logs.rglob("*") if path.is_file()):
            name = f"logs/{file.relative_to(logs).as_posix()}"
            self.client.put_object(Bucket=BUCKET, Key=name, Body=file.read_bytes())

    def delete(self, name: str) -> None:
        self.client.delete_object(Bucket=BUCKET, Key=f"logs/{name}")

    def empty(self) -> None:
        found = self.client.list_objects_v2(Bucket=BUCKET).get("Contents", [])
        for one in found:
            self.client.delete_object(Bucket=BUCKET, Key=one["Key"])

    @contextlib.contextmanager
    def counted(self) -> Iterator[Counter[str]]:
        """The requests inside of it alone."""
        self.requests.clear()
        self.sent = 0
        yield self.requests

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _answer(self, environ: Any, start_response: Any) -> Any:
        method = environ["REQUEST_METHOD"]
        key = environ["PATH_INFO"].removeprefix(f"/{BUCKET}").strip("/")
        is_object = method == "GET" and bool(key)
        kind = "LIST" if method == "GET" and not key else method
        self.requests[kind] += 1
        for part in self._app(environ, start_response):
            self.sent += len(part) if is_object else 0
            yield part
