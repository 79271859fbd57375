"""What a request can get wrong. Turned into answers in one place: `routes.py`."""


class RequestError(Exception):
    """The request cannot be answered. The message is for the user to read."""

    code = "bad_request"
    status = 400


class NotFound(RequestError):
    """What was asked for is not there."""

    code = "not_found"
    status = 404


class MethodNotAllowed(RequestError):
    """Only GET and HEAD are answered."""

    code = "method_not_allowed"
    status = 405
