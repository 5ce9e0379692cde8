"""Request ids: every answer has an X-Request-Id, which is also in the log lines of the request."""

import re
import secrets
from collections.abc import Callable
from contextvars import ContextVar
from itertools import count

current_request_id: ContextVar[str | None] = ContextVar("current_request_id", default=None)
"""The id of the request that this task handles. The log adds it to every line."""

# An id from a client is used only if it is short and safe in a header, a log line, a shell and a file name.
find_safe = re.compile(rb"[A-Za-z0-9][A-Za-z0-9._-]{0,63}").fullmatch

# The random prefix is different in each process, and the number in each request. This needs no system call and no lock.
next_request_id: Callable[[], bytes] = map((secrets.token_hex(4).encode() + b"-%x").__mod__, count(1)).__next__
