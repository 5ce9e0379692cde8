"""Writes an event stream as a response, until the stream ends or the client disconnects (Decision 0044)."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import aclosing
from typing import Any

from starlette.responses import Response

from domogate.http_api.operations import RequestHeader
from domogate.http_api.problems import Problem
from domogate.services.events.hub import TooManyStreams, Unavailable
from domogate.services.events.queue import EventWriter
from domogate.services.events.stream import Stream

MEDIA_TYPE = "text/event-stream"

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_WRITER = "domogate.writer"
"""The key in the ASGI scope for the connection as an `EventWriter`. Only our own server sets this key."""
_NOTHING = {"type": "http.response.body", "body": b"", "more_body": True}


LAST_EVENT_ID = RequestHeader("Last-Event-ID", "The id of the last event that was received: events after it are sent first")
UNAVAILABLE = "Too many streams are open, or the gateway stops; see Retry-After"
"""The description of status 503 of an operation that opens a stream."""


async def answer_stream(opening: Awaitable[Stream]) -> Response:
    """Wait until the stream is open, and return the response that writes it. Raises Problem if the stream cannot be opened."""
    try:
        return EventStreamResponse(await opening)
    except Unavailable as refused:
        status = 429 if isinstance(refused, TooManyStreams) else 503
        raise Problem(status, str(refused), {"retry-after": str(refused.retry_after)}) from None


class _AsgiWriter:
    """An EventWriter that writes nothing: EventStreamResponse sends all parts. Used if the server sets no `_WRITER`."""

    def __init__(self, send: Send) -> None:
        self._send = send

    def write_now(self, _frame: bytes) -> bool:
        return False

    async def until_writable(self) -> None:
        await self._send(_NOTHING)  # `send` returns when more bytes can be written.


class EventStreamResponse(Response):
    """Server-sent events. Each event is written when the client can receive it."""

    media_type = MEDIA_TYPE

    def __init__(self, stream: Stream) -> None:
        self.status_code = 200
        self._stream = stream
        # x-accel-buffering tells a proxy to send each event at once.
        self.init_headers({"cache-control": "no-store", "x-accel-buffering": "no"})

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        scope["domogate.stream"] = True
        writer: EventWriter = scope.get(_WRITER) or _AsgiWriter(send)
        watcher = asyncio.create_task(self._close_on_disconnect(receive))
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            async with aclosing(self._stream.frames(writer)) as frames:
                while True:
                    # Rights are checked when a frame is made, so the frame must be written immediately. Wait before it is made.
                    await writer.until_writable()
                    frame = await anext(frames, None)
                    if frame is None:
                        break
                    await send({"type": "http.response.body", "body": frame, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        finally:
            self._stream.close()
            watcher.cancel()

    async def _close_on_disconnect(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._stream.close()
