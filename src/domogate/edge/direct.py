"""Direct reads: requests that a connection answers without an ASGI task (Decision 0102).

The answer to a read is a coroutine. The connection runs this coroutine itself. If everything that the coroutine needs is in
memory, the coroutine ends at once, and the connection writes the answer. If the coroutine has to wait, a task continues it from
the place where it waits. So no step runs twice.
"""

import asyncio
import contextlib
import types
from collections.abc import Callable, Coroutine, Generator, MutableMapping, Sequence
from contextvars import copy_context
from math import inf
from typing import Any, Protocol, TypeVar

import msgspec
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware
from uvicorn.protocols.http.httptools_impl import HEADER_RE, HEADER_VALUE_RE, STATUS_LINE

from domogate.common.http_messages import Answer, Header, Request
from domogate.common.log import get_logger
from domogate.edge.reading import RequestReader

T = TypeVar("T")
Reader = Callable[[Request], Coroutine[Any, Any, Answer]]
"""Answers a GET request that has no body."""
Reply = tuple[int, bytes, bytes]
"""The status of an answer, its printed headers, and its body."""


_LARGE = 16_384
"""A body of this number of bytes or more is not copied behind its headers."""
_END, _CLOSE = b"\r\n", b"connection: close\r\n\r\n"
_KEPT_BYTES = 4_000_000
"""At most this number of bytes of parsed requests is cached. Clients repeat the same few requests."""
_KEPT_MORE = 3_000
"""The memory in bytes that a cached request needs in addition to its text and its headers."""
_KEPT_PER_HEADER = 250
"""The memory in bytes that each parsed header of a cached request needs."""

_log = get_logger("domogate.edge")


class Read(msgspec.Struct, frozen=True):
    """A request that was parsed and can be answered directly."""

    reader: Reader
    raw_path: bytes
    headers: Sequence[Header]
    keep_alive: bool
    notes: dict[str, Any] = {}
    """The notes of all requests with these bytes."""


class DirectApp(Protocol):
    """An application that offers direct reads besides its ASGI interface."""

    def find_reader(self, url: bytes) -> Reader | None:
        """Return the reader for this URL. None means that the request is answered through ASGI."""
        ...

    def read(self, request: Request, reader: Reader) -> Coroutine[Any, Any, Reply]:
        """Answer the request with the reader that `find_reader` returned."""
        ...


class DirectReads:
    """The direct reads of a server, for all its connections."""

    def __init__(self, app: DirectApp | None = None, trusted_proxies: Sequence[str] = ()) -> None:
        """Without `app`, all requests are answered through ASGI."""
        self._app = app
        self._proxies = ProxyHeadersMiddleware(_do_nothing, list(trusted_proxies)) if trusted_proxies else None
        self._default_headers: Sequence[Header] = ()
        self._printed_default = b""
        self._kept: dict[bytes, Read] = {}
        self._kept_bytes = 0
        self.find_kept = self._kept.get
        """Return the parsed form of a header section that was received before, or None."""

    def find(self, url: bytes, headers: Sequence[Header], *, keep_alive: bool) -> Read | None:
        """Return the direct read for a GET request without a body. None means that the request is answered through ASGI."""
        reader = None if self._app is None else self._app.find_reader(url)
        return None if reader is None else Read(reader, url.partition(b"?")[0], headers, keep_alive)

    def keep(self, head: bytes, read: Read) -> None:
        """Cache a parsed header section, and remove the oldest ones if the cache is too large.

        Call this only if the request was answered without an error, so that strangers cannot fill the cache.
        """
        if head not in self._kept:
            self._kept[head] = read
            self._kept_bytes += _kept_size(head, read)
            while self._kept_bytes > _KEPT_BYTES:
                oldest = next(iter(self._kept))
                self._kept_bytes -= _kept_size(oldest, self._kept.pop(oldest))

    def run(self, read: Read, client: tuple[str, int] | None, send: Callable[[Reply], None]) -> asyncio.Task[None] | None:
        """Answer a direct read, and call `send` with the reply. Returns a task that does this later if the read has to wait."""
        assert self._app is not None
        address = client[0] if client is not None and self._proxies is None else self._find_address(client, read.headers)
        request = Request("GET", read.raw_path, read.headers, address, _receive_nothing, read.notes)
        coroutine, context = self._app.read(request, read.reader), copy_context()
        try:
            awaited = context.run(coroutine.send, None)
        except StopIteration as end:
            send(end.value)
            return None
        if asyncio.isfuture(awaited):
            # `await` marks a future, and the task of the coroutine removes the mark (see the documentation of `isfuture`).
            # Here the task starts later. Until then, `await` in another coroutine would fail with RuntimeError.
            awaited._asyncio_future_blocking = False
        return asyncio.get_running_loop().create_task(_send_later(coroutine, awaited, send), context=context)

    def print_default(self, headers: Sequence[Header]) -> bytes:
        """Return the headers that uvicorn adds to every answer. uvicorn makes a new list of them every second."""
        if headers is not self._default_headers:
            self._printed_default = print_headers(headers)
            self._default_headers = headers
        return self._printed_default

    def _find_address(self, client: tuple[str, int] | None, headers: Sequence[Header]) -> str:
        """Find the address of a client that may be behind a trusted proxy, with the same code as for requests through ASGI."""
        if self._proxies is not None:
            scope: Any = {"type": "http", "client": client, "headers": headers, "scheme": "http"}
            unused: Any = None
            with contextlib.suppress(StopIteration):
                self._proxies(scope, unused, unused).send(None)  # It only changes `scope`.
            client = scope["client"]
        return "" if client is None else client[0]


class DirectReader(RequestReader):
    """A connection that answers direct reads itself."""

    def __init__(self, reads: DirectReads, start: Callable[[Callable[[], None]], None], *args: Any) -> None:
        """`start` calls its argument now, or in a later round of the event loop. `args` are the arguments of the base class."""
        super().__init__(*args)
        self.reads = reads
        self.read: Read | None = None
        """The direct read that is not answered yet."""
        self.head = b""
        """The header section of the direct read that is not answered yet, if `reads` may keep it. Otherwise empty."""
        self.keep_alive = True
        self.deadline = inf
        self._start = start

    def begin_read(self) -> bool:
        keep_alive = self.parser.should_keep_alive() and self.parser.get_http_version() != "1.0"
        self.read = self.reads.find(self.url, self.headers, keep_alive=keep_alive)
        return self.read is not None

    def start_read(self, read: Read) -> None:
        """Answer the direct read, now or in a later round of the event loop."""
        self.read = read
        self.keep_alive = read.keep_alive
        self.deadline = inf
        self._start(self._answer_read)

    def _answer_read(self) -> None:
        assert self.read is not None, "a direct read is answered once"
        try:
            task = self.reads.run(self.read, self.client, self._send_reply)
        except (Exception, asyncio.CancelledError) as error:
            self._abort_read(error)
            return
        if task is not None:
            self.tasks.add(task)
            task.add_done_callback(self._end_task)

    def _end_task(self, task: asyncio.Task[None]) -> None:
        self.tasks.discard(task)
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        if error is not None:
            self._abort_read(error)

    def _abort_read(self, error: BaseException) -> None:
        """Abort the connection of a read that failed without an answer. Otherwise the client would wait without end."""
        if not isinstance(error, asyncio.CancelledError):
            _log.error("a read failed without an answer; its connection is aborted", exc_info=error)
        elif not self.transport.is_closing():  # At the end of a drain, the server logs one line for all cancelled requests.
            _log.warning("a read was cancelled; its connection is aborted")
        self.transport.abort()

    def _send_reply(self, reply: Reply) -> None:
        read, self.read = self.read, None
        head, self.head = self.head, b""
        assert read is not None
        status, headers, body = reply
        if head and status < 400:
            self.reads.keep(head, read)
        transport, keep_alive = self.transport, self.keep_alive
        if not transport.is_closing():
            default = self.reads.print_default(self.server_state.default_headers)
            end = _END if keep_alive else _CLOSE
            large = len(body) >= _LARGE
            transport.write(b"".join((STATUS_LINE[status], default, headers, end, b"" if large else body)))
            if large:
                # Not `writelines`: in some versions of Python it never pauses the protocol (CVE-2024-12254).
                transport.write(body)
            if not keep_alive:
                transport.close()
        self.on_response_complete()


def _kept_size(head: bytes, read: Read) -> int:
    return _KEPT_MORE + len(head) + _KEPT_PER_HEADER * len(read.headers)


async def _receive_nothing() -> MutableMapping[str, Any]:
    """Do the same as ASGI's `receive` for a request without a body."""
    return {"type": "http.request", "body": b"", "more_body": False}


async def _do_nothing(*_: Any) -> None: ...


def print_headers(headers: Sequence[Header]) -> bytes:
    """Return the headers as bytes. Raises ValueError for a header that uvicorn also refuses, such as one with a line end."""
    for name, value in headers:
        if HEADER_RE.search(name) or HEADER_VALUE_RE.search(value):
            raise ValueError(f"the answer has an invalid header {name!r}")
    return b"".join([b"%b: %b\r\n" % header for header in headers])


async def _send_later(coroutine: Coroutine[Any, Any, Reply], awaited: Any, send: Callable[[Reply], None]) -> None:
    send(await _continue(coroutine, awaited))


@types.coroutine
def _continue(coroutine: Coroutine[Any, Any, T], awaited: Any) -> Generator[Any, Any, T]:
    """Continue a coroutine that was started outside a task. `awaited` is the object that the coroutine waits for."""
    if asyncio.isfuture(awaited):
        awaited._asyncio_future_blocking = True  # The task accepts only a future with this mark (see `DirectReads.run`).
    while True:
        try:
            yield awaited
        except BaseException as error:
            try:
                awaited = coroutine.throw(error)
            except StopIteration as end:
                result: T = end.value
                return result
        else:
            return (yield from coroutine.__await__())
