"""The record of the newest requests and their answers, without secrets."""

from collections import deque
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import parse_qsl, urlencode

import msgspec

from domogate.wire import OutputModel

MOST_EXCHANGES = 1_000
MOST_BODY = 16_384
"""The largest number of bytes that are recorded of one body."""
MOST_BYTES = 8_000_000
"""The largest number of bytes of all recorded bodies, paths and headers. At this limit, the oldest exchanges are removed."""
MOST_LEVELS = 50
"""The largest number of nested levels of a recorded JSON body. Deeper values are recorded as a text."""

_SECRET_HEADERS = frozenset((b"authorization", b"cookie", b"set-cookie", b"ocp-apim-subscription-key", b"location"))
_SECRET_SURFACES = frozenset(("auth", "tickets", "developer", "manage"))
"""First segments of paths. For these paths, the queries and the bodies of requests and answers are not recorded.

These queries and bodies contain passwords, codes, keys or tickets.
"""
_REDACTED = "[redacted]"

Header = tuple[bytes, bytes]
Redact = Callable[[Any], Any]


class Sent(msgspec.Struct, frozen=True):
    """The headers and the body of a request or an answer. A body that is longer than the limit is cut."""

    headers: Sequence[Header] = ()
    body: bytes = b""
    is_cut: bool = False


class ExchangeOut(OutputModel, frozen=True):
    """A request and its answer. Secrets are replaced by `[redacted]`. `status` is null if the client got no answer.

    `operation` is the name of the OpenAPI document, a dot, and the `operationId`, for example `homeauto.readLight`.
    The Python and TypeScript clients use the same name in their messages.
    `fault` is the fault of the test kit that changed the answer. Bodies are cut after 16 KiB.
    """

    number: int
    at: datetime
    method: str
    path: str
    query: str
    operation: str | None
    status: int | None
    fault: str | None
    ms: float
    request_id: str
    request_headers: dict[str, str]
    request_body: str
    answer_headers: dict[str, str]
    answer_body: str

    @property
    def size(self) -> int:
        texts = (*self.request_headers.values(), *self.answer_headers.values())
        return 1_000 + len(self.path) + len(self.query) + len(self.request_body) + len(self.answer_body) + sum(map(len, texts))


class Traffic:
    """The newest exchanges: requests with their answers. Their number and their size in memory are bounded."""

    def __init__(self, redact: Redact) -> None:
        """`redact` removes secrets from texts and from parsed JSON."""
        self._redact = redact
        self._exchanges: deque[ExchangeOut] = deque()
        self._bytes = 0
        self._number = 0

    def list(self) -> Sequence[ExchangeOut]:
        """Return the exchanges. The oldest is first."""
        return tuple(self._exchanges)

    def clear(self) -> None:
        self._exchanges.clear()
        self._bytes = self._number = 0

    def add(self, raw_path: bytes, query: bytes, request: Sent, answer: Sent, **facts: Any) -> None:
        """Record a request and its answer. `facts` are the fields of ExchangeOut that this method does not compute."""
        path = raw_path[:2_000].decode("ascii", "replace")
        surface = path.split("/")[1] if path.startswith("/") else ""
        is_secret = surface in _SECRET_SURFACES
        if surface == "tickets":
            path = f"/tickets/{_REDACTED}"  # The ticket is a part of the path.
        self._number += 1
        exchange = ExchangeOut(
            number=self._number,
            path=path,
            query=_REDACTED if is_secret and query else self._redact_query(query),
            request_headers=self._redact_headers(request.headers),
            request_body=_REDACTED if is_secret and request.body else self._redact_body(request),
            answer_headers=self._redact_headers(answer.headers),
            answer_body=_REDACTED if is_secret and answer.body else self._redact_body(answer),
            **facts,
        )
        self._exchanges.append(exchange)
        self._bytes += exchange.size
        while len(self._exchanges) > MOST_EXCHANGES or self._bytes > MOST_BYTES:
            self._bytes -= self._exchanges.popleft().size

    def _redact_headers(self, headers: Sequence[Header]) -> dict[str, str]:
        return {
            name.decode("latin-1"): _REDACTED if name.lower() in _SECRET_HEADERS else self._redact(value.decode("latin-1"))
            for name, value in headers
        }

    def _redact_query(self, query: bytes) -> str:
        pairs = parse_qsl(query[:MOST_BODY].decode("ascii", "replace"), keep_blank_values=True)
        # One parameter can have several values, as `kind` of an event stream, so each pair is redacted alone.
        return urlencode([pair for name, value in pairs for pair in self._redact({name: value}).items()])

    def _redact_body(self, sent: Sent) -> str:
        text = sent.body.decode("utf-8", "replace")
        if not sent.is_cut:
            try:
                return msgspec.json.encode(self._redact(msgspec.json.decode(sent.body))).decode()
            except (msgspec.DecodeError, RecursionError):
                pass  # It is not JSON, or it has too many levels.
        redacted: str = self._redact(text)
        return redacted
