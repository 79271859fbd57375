"""Workers that are lost, and servers that are none."""

import pytest

from tests.diagnosis.exceptions.raising import raised

WORKER_0 = {"env.TF_CONFIG": "task worker 0, cluster worker 2"}


@pytest.mark.parametrize(
    ("exception", "message", "detail", "headline"),
    [
        (
            "UnavailableError",
            "Collective ops is aborted by: The following tasks are unhealthy "
            "(stopped sending heartbeats):\n/job:worker/replica:0/task:1\nThe tasks "
            "have crashed.",
            "silent",
            "Worker 1 stopped answering; this one ended at step 1,234",
        ),
        (
            "UnavailableError",
            "Collective ops is aborted by: Socket closed\nAdditional GRPC error "
            "information from remote target /job:worker/replica:0/task:1:",
            "dead",
            "Worker 1 is gone; this one ended at step 1,234",
        ),
        (
            "AbortedError",
            "Collective ops is aborted by: Shape mismatch in the collective instance "
            "100. Op at device /job:worker/replica:0/task:1/device:CPU:0 expected shape"
            " [9] but another member in the group expected shape [8].",
            "out_of_step",
            "Worker 1 is out of step; this one ended at step 1,234",
        ),
        (
            "UnavailableError",
            "failed to connect to all addresses; last error: UNKNOWN: ipv4:10.0.0.2:"
            "2222: Connection refused. Remote target /job:worker/replica:0/task:1",
            "absent",
            "Worker 1 did not come; this one ended at step 1,234",
        ),
        (
            "DeadlineExceededError",
            "Barrier timed out. Some tasks have not reached it: "
            "/job:ps/replica:0/task:0",
            "absent",
            "Ps 0 did not come; this one ended at step 1,234",
        ),
    ],
)
def test_lost(exception: str, message: str, detail: str, headline: str):
    told = raised(exception, message, process=WORKER_0)

    assert (told.verdict.id, told.verdict.detail) == ("peer_lost", detail)
    assert told.headline == headline


def test_the_own_task_is_not_the_lost_one():
    message = (
        "Collective ops is aborted by: /job:worker/replica:0/task:0: Connection reset "
        "by peer\nfrom remote target /job:worker/replica:0/task:1"
    )

    told = raised("UnavailableError", message, process=WORKER_0)

    assert told.verdict.place["worker"] == "worker 1"


def test_horovod():
    told = raised(
        "HorovodInternalError",
        "Horovod has been shut down. This was caused by an "
        "exception on one of the ranks",
    )

    assert told.verdict.id == "peer_lost"
    assert told.verdict.confidence == "likely"


@pytest.mark.parametrize(
    ("exception", "message"),
    [
        ("ConnectionError", "HTTPConnectionPool: [Errno 111] Connection refused"),
        ("ConnectionResetError", "[Errno 104] Connection reset by peer"),
        ("UnavailableError", "Error executing an HTTP request: HTTP response code 503"),
        ("UnavailableError", "connection reset by peer when reading gs://bucket/a"),
        ("InternalError", "/job:localhost/replica:0/task:0: the kernel failed"),
    ],
)
def test_a_server_elsewhere_is_no_worker(exception: str, message: str):
    assert raised(exception, message).verdict.id == "code_error"
