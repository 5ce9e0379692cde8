"""Every answer carries an X-Request-Id, so that a caller and a log line can find each other."""

import re
import secrets
from contextvars import ContextVar
from itertools import count

current_request_id: ContextVar[str | None] = ContextVar("current_request_id", default=None)
"""The id of the request this task is about; the log adds it to every line."""

_PREFIX = secrets.token_hex(4).encode()
_COUNTER = count(1)

# Short and harmless in a header, a log line, a shell and a file name: anything else from outside is not taken over.
find_safe = re.compile(rb"[A-Za-z0-9][A-Za-z0-9._-]{0,63}").fullmatch


def next_request_id() -> bytes:
    """Unique among processes by its random beginning, within this one by a counter: no system call, no lock."""
    return b"%b-%x" % (_PREFIX, next(_COUNTER))
