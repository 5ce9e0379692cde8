"""Request ids: every answer has an X-Request-Id, which is also in the log lines of the request."""

import re
import secrets
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from itertools import count

current_request_id: ContextVar[str | None] = ContextVar("current_request_id", default=None)
"""The id of the request that this task handles. The log adds it to every line."""

# An id from a client is used only if it is short and safe in a header, a log line, a shell and a file name.
find_safe = re.compile(rb"[A-Za-z0-9][A-Za-z0-9._-]{0,63}").fullmatch


def _number_requests() -> Iterator[bytes]:
    """Return a random prefix with a number. This needs no system call and no lock for each request.

    The prefix is chosen for the first request, so that processes forked before it have different ones.
    """
    yield from map((secrets.token_hex(4).encode() + b"-%x").__mod__, count(1))


next_request_id: Callable[[], bytes] = _number_requests().__next__
