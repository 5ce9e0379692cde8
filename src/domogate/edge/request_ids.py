"""Request ids: every answer has an X-Request-Id, which is also in the log lines of the request."""

import re
import secrets
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from itertools import chain, count

current_request_id: ContextVar[str | None] = ContextVar("current_request_id", default=None)
"""The id of the request that the current asyncio task handles. The log adds this id to every line of the task."""

# An id from a client is used only if it is short and safe in a header, a log line, a shell and a file name.
find_safe = re.compile(rb"[A-Za-z0-9][A-Za-z0-9._-]{0,63}").fullmatch


def _number_requests(first: int) -> Iterator[bytes]:
    """Yield request ids with a random prefix and a number. Making an id needs no system call and no lock."""
    return map((secrets.token_hex(4).encode() + b"-%x").__mod__, count(first))


# The prefix is chosen at the first request, so that processes that were forked before this request have different prefixes.
next_request_id: Callable[[], bytes] = chain.from_iterable(map(_number_requests, (1,))).__next__
