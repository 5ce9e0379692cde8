"""Direct requests: requests that a connection answers without the ASGI interface (Decisions 0102 and 0106).

The answer to a request is a coroutine. The connection runs the coroutine of a GET request itself. If everything that this
coroutine needs is in memory, the coroutine ends at once, and the connection writes the answer. If the coroutine has to wait, a
task continues it from the place where it waits. So no step runs twice. A POST request changes data, so it waits for the store:
its coroutine runs in a task from the beginning.
"""

import asyncio
import contextlib
import types
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Sequence
from contextvars import copy_context
from math import inf
from typing import Any, Protocol

import msgspec
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware
from uvicorn.protocols.http.httptools_impl import HEADER_RE, HEADER_VALUE_RE, STATUS_LINE

from domogate.common.http_messages import Answer, Header, Request
from domogate.common.log import get_logger
from domogate.edge.reading import HEAD_END, RequestReader

Handler = Callable[[Request], Coroutine[Any, Any, Answer]]
"""A coroutine function that answers a request."""
Reply = tuple[int, bytes, bytes]
"""The status of an answer, its headers as bytes, and its body."""
Send = Callable[[Reply], None]


AT_ONCE = 8
"""At most this number of requests start in one round of the event loop."""
_LARGE = 16_384
"""A body of at least this number of bytes is written separately. Copying it behind its headers would take time."""
_MOST_BODY = 16_384
"""The largest number of bytes of the body of a direct request."""
_END, _CLOSE = b"\r\n", b"connection: close\r\n\r\n"
_ENDED = object()
"""Shows that a coroutine has ended without waiting."""
_KEPT_BYTES = 4_000_000
"""At most this number of bytes of parsed requests is cached. Clients repeat the same few requests."""
_KEPT_MORE = 3_000
"""The memory in bytes that a cached request needs in addition to its text and its headers."""
_KEPT_PER_HEADER = 250
"""The memory in bytes that each parsed header of a cached request needs."""

_log = get_logger("domogate.edge")


class DirectRequest(msgspec.Struct, frozen=True):
    """A parsed header section of a request that can be answered directly."""

    handler: Handler
    method: str
    raw_path: bytes
    query: bytes
    headers: Sequence[Header]
    body_size: int
    keep_alive: bool
    notes: dict[str, Any] = {}
    """Values computed from this header section (`Request.notes`). All requests with this header section share them."""


class DirectApp(Protocol):
    """An ASGI application that also answers direct requests."""

    def find_handler(self, method: str, url: bytes) -> Handler | None:
        """Return the handler for this method and URL. None means that the request is answered through ASGI."""
        ...

    def answer(self, request: Request, handler: Handler, send: Send) -> Coroutine[Any, Any, None]:
        """Answer the request with the handler that `find_handler` returned: call `send` once with the reply."""
        ...


class DirectRequests:
    """Decides which requests are direct requests. All connections of a server share one object of this class."""

    def __init__(self, app: DirectApp | None = None, trusted_proxies: Sequence[str] = ()) -> None:
        """If `app` is None, all requests are answered through ASGI."""
        self._app = app
        self._proxies = ProxyHeadersMiddleware(_do_nothing, list(trusted_proxies)) if trusted_proxies else None
        self.default_headers: Sequence[Header] = ()
        """The headers that uvicorn adds to every answer. uvicorn makes a new list every second, because of the header Date."""
        self.printed_default = b""
        """The default headers as bytes."""
        self._kept: dict[bytes, DirectRequest] = {}
        self._kept_bytes = 0
        self.find_kept = self._kept.get
        """Returns the direct request for a header section that is in the cache (`keep`), or None."""

    def find(
        self, method: str, url: bytes, headers: Sequence[Header], *, body_size: int = 0, keep_alive: bool
    ) -> DirectRequest | None:
        """Return the direct request for a parsed header section. None means that the request is answered through ASGI."""
        if self._app is None or body_size > _MOST_BODY:
            return None
        handler = self._app.find_handler(method, url)
        raw_path, _, query = url.partition(b"?")
        return None if handler is None else DirectRequest(handler, method, raw_path, query, headers, body_size, keep_alive)

    def keep(self, head: bytes, direct: DirectRequest) -> None:
        """Cache a parsed header section, and remove the oldest ones if the cache is too large.

        Call this only if the request was answered without an error, so that strangers cannot fill the cache.
        """
        if head not in self._kept:
            self._kept[head] = direct
            self._kept_bytes += _kept_size(head, direct)
            while self._kept_bytes > _KEPT_BYTES:
                oldest = next(iter(self._kept))
                self._kept_bytes -= _kept_size(oldest, self._kept.pop(oldest))

    def run(
        self,
        direct: DirectRequest,
        body: bytes,
        client: tuple[str, int] | None,
        send: Send,
        loop: asyncio.AbstractEventLoop,
    ) -> asyncio.Task[None] | None:
        """Answer a direct request, and call `send` with the reply. Returns a task if the reply is sent later, otherwise None.

        `loop` is the running event loop. In Python 3.11, each call of `get_running_loop` would make a system call.
        """
        assert self._app is not None
        address = client[0] if client is not None and self._proxies is None else self._find_address(client, direct.headers)
        request = Request(
            direct.method, direct.raw_path, direct.headers, address, query=direct.query, body=body, notes=direct.notes
        )
        coroutine = self._app.answer(request, direct.handler, send)
        if direct.method != "GET":
            return loop.create_task(coroutine, name="request")  # Without this name, asyncio would make a name.
        context = copy_context()
        # Unlike `coroutine.send`, this raises no StopIteration at the end of the coroutine. Exceptions take time.
        awaited = context.run(next, coroutine.__await__(), _ENDED)
        if awaited is _ENDED:
            return None
        if asyncio.isfuture(awaited):
            # `await` marks a future, and the task of the coroutine removes the mark (see the documentation of `isfuture`).
            # Here the task starts later. Until then, `await` in another coroutine would fail with RuntimeError.
            awaited._asyncio_future_blocking = False
        return loop.create_task(_finish(coroutine, awaited), context=context)

    def print_default(self, headers: Sequence[Header]) -> None:
        self.default_headers, self.printed_default = headers, print_headers(headers)

    def _find_address(self, client: tuple[str, int] | None, headers: Sequence[Header]) -> str:
        """Return the IP address of the client, also if the client is behind a trusted proxy.

        The address is found by the middleware that is also used for requests through ASGI.
        """
        if self._proxies is not None:
            scope: Any = {"type": "http", "client": client, "headers": headers, "scheme": "http"}
            unused: Any = None
            with contextlib.suppress(StopIteration):
                self._proxies(scope, unused, unused).send(None)  # It only changes `scope`.
            client = scope["client"]
        return "" if client is None else client[0]


class RequestPacer:
    """Starts at most `AT_ONCE` requests in each round of the event loop, so that a health check waits only for few requests."""

    def __init__(self) -> None:
        self._started = 0
        self._waiting: deque[Callable[[], None]] = deque()

    def start(self, begin: Callable[[], None]) -> None:
        """Call `begin` now, or in a later round of the event loop if `AT_ONCE` requests have started in this round."""
        if self._started == AT_ONCE:
            self._waiting.append(begin)
            return
        self._started += 1
        if self._started == AT_ONCE:
            # Not after each request: a call costs a whole round of the event loop with its system calls.
            asyncio.get_running_loop().call_soon(self._next_round)
        begin()

    def _next_round(self) -> None:
        self._started = 0
        for _ in range(min(AT_ONCE, len(self._waiting))):
            self.start(self._waiting.popleft())


class DirectConnection(RequestReader):
    """A connection that answers direct requests itself."""

    def __init__(self, requests: DirectRequests, start: Callable[[Callable[[], None]], None], *args: Any) -> None:
        """`start` calls its argument now, or in a later round of the event loop. `args` are the arguments of the base class."""
        super().__init__(*args)
        self.requests = requests
        self.direct: DirectRequest | None = None
        """The direct request that is not answered yet."""
        self.head = b""
        """The header section of the direct request that is not answered yet. Empty if it will not be cached."""
        self.body = b""
        """The body of the direct request that is not answered yet."""
        self.deadline = inf
        self._start = start
        self._following = 0
        """The number of received bytes after the piece that is parsed now."""

    def parse_piece(self, data: bytes, at: int, *, is_whole: bool) -> int:
        """Parse the next piece of a request in `data`. Return the index of the first byte that was not used.

        If `is_whole` is true, the piece can be a whole header section. If the request is direct, this section is kept for the
        cache. A request is direct only if its whole body is already in `data`. This body is not given to the parser.
        """
        end = self.find_end(data, at)
        piece = data if at == 0 and end == len(data) else data[at:end]
        self.head = piece if is_whole else b""
        self._following = len(data) - end
        self.feed(piece)
        direct = self.direct
        if direct is None:
            self.head = b""  # Only a direct request needs it, and it contains credentials.
        elif direct.body_size:
            self.body = data[end : end + direct.body_size]
            end += direct.body_size
            self.begin_parser()  # The old parser waits for the body.
            self.on_message_complete()
        return end

    def start_kept(self, data: bytes, at: int) -> int:
        """Start the request that begins at the index `at`, if its header section is in the cache. Return the index of its end.

        Return 0 if the header section is not in the cache, or if the body is not complete yet.
        """
        find_kept = self.requests.find_kept
        if not at and (direct := find_kept(data)) is not None and not direct.body_size:
            self.start_direct(direct)
            return len(data)
        head_end = data.find(HEAD_END, at) + len(HEAD_END)
        direct = find_kept(data[at:head_end])
        if direct is None or head_end + direct.body_size > len(data):
            return 0
        end = head_end + direct.body_size
        self.body = data[head_end:end]
        self.start_direct(direct)
        return end

    def begin_direct(self, body_size: int) -> bool:
        if body_size > self._following:
            return False
        parser = self.parser
        keep_alive = parser.should_keep_alive() and parser.get_http_version() != "1.0"
        method = parser.get_method().decode("ascii")
        self.direct = self.requests.find(method, self.url, self.headers, body_size=body_size, keep_alive=keep_alive)
        return self.direct is not None

    def start_direct(self, direct: DirectRequest) -> None:
        """Answer the direct request, now or in a later round of the event loop."""
        self.direct = direct
        self.deadline = inf
        self._start(self._answer_direct)

    def _answer_direct(self) -> None:
        assert self.direct is not None, "a direct request is answered once"
        body, self.body = self.body, b""
        try:
            task = self.requests.run(self.direct, body, self.client, self._send_reply, self.loop)
        except (Exception, asyncio.CancelledError) as error:
            self._abort_direct(error)
            return
        if task is not None:
            self.tasks.add(task)
            task.add_done_callback(self._end_task)

    def _end_task(self, task: asyncio.Task[None]) -> None:
        self.tasks.discard(task)
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        if error is not None:
            self._abort_direct(error)

    def _abort_direct(self, error: BaseException) -> None:
        """Abort the connection of a request that failed without an answer. Otherwise the client would wait without end."""
        if not isinstance(error, asyncio.CancelledError):
            _log.error("a request failed without an answer; its connection is aborted", exc_info=error)
        elif not self.transport.is_closing():  # At the end of a drain, the server logs one line for all cancelled requests.
            _log.warning("a request was cancelled; its connection is aborted")
        self.transport.abort()

    def _send_reply(self, reply: Reply) -> None:
        direct, self.direct = self.direct, None
        head, self.head = self.head, b""
        assert direct is not None
        status, headers, body = reply
        if head and status < 400:
            self.requests.keep(head, direct)
        transport, keep_alive = self.transport, direct.keep_alive and not self.guards.is_draining
        if not transport.is_closing():
            requests = self.requests
            if requests.default_headers is not self.server_state.default_headers:
                requests.print_default(self.server_state.default_headers)
            end = _END if keep_alive else _CLOSE
            large = len(body) >= _LARGE
            transport.write(b"".join((STATUS_LINE[status], requests.printed_default, headers, end, b"" if large else body)))
            if large:
                # Not `writelines`: in some versions of Python it never pauses the protocol (CVE-2024-12254).
                transport.write(body)
            if not keep_alive:
                transport.close()
        self.on_response_complete()


def _kept_size(head: bytes, direct: DirectRequest) -> int:
    return _KEPT_MORE + len(head) + _KEPT_PER_HEADER * len(direct.headers)


async def _do_nothing(*_: Any) -> None: ...


def print_headers(headers: Sequence[Header]) -> bytes:
    """Return the headers as bytes.

    Raises ValueError for a header that uvicorn also refuses, such as a header with a line end.
    """
    for name, value in headers:
        if HEADER_RE.search(name) or HEADER_VALUE_RE.search(value):
            raise ValueError(f"the answer has an invalid header {name!r}")
    return b"".join([b"%b: %b\r\n" % header for header in headers])


async def _finish(coroutine: Coroutine[Any, Any, None], awaited: Any) -> None:
    await _continue(coroutine, awaited)


@types.coroutine
def _continue(coroutine: Coroutine[Any, Any, None], awaited: Any) -> Generator[Any, Any, None]:
    """Continue a coroutine that was started outside a task. `awaited` is the object that the coroutine waits for."""
    if asyncio.isfuture(awaited):
        awaited._asyncio_future_blocking = True  # The task accepts only a future with this mark (see `DirectRequests.run`).
    while True:
        try:
            yield awaited
        except BaseException as error:
            try:
                awaited = coroutine.throw(error)
            except StopIteration:
                return
        else:
            yield from coroutine.__await__()
            return
