"""The ASGI app of GET /events: lets the caller in, and writes their stream until it ends or they go (Decision 0044)."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import aclosing
from functools import partial
from typing import Any

import msgspec
import structlog
from starlette.responses import Response

from domogate.domain.faults import Fault, NotYourPlant, ScopeMissing
from domogate.events.openapi import openapi_document
from domogate.events.query import read_wish
from domogate.http_api.problems import Problem
from domogate.http_api.refusals import problem_of
from domogate.ports import Admission, Audit, Verifier
from domogate.services.audit.log import AuditAction, AuditResult, client_ref
from domogate.services.events.hub import Hub, Unavailable
from domogate.services.events.stream import Stream
from domogate.services.rights.credentials import Caller, let_in

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Header = tuple[bytes, bytes]

PATH, DOCUMENT = b"/events", b"/events/openapi.json"
OPERATION = "events"

_LAST_EVENT_ID = b"last-event-id"
_HEADERS: tuple[Header, ...] = (
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),  # a proxy in between that would collect before it hands on
)
_TAKEN = "domogate.taken"
"""Scope key of what our server waits with until the client has taken enough of what was written."""
# Of any other server: nothing is written by this, and it returns only then.
_NOTHING = {"type": "http.response.body", "body": b"", "more_body": True}

# Who proved who they are and went beyond what they may, as in the families.
_NOTED_REFUSALS = (NotYourPlant, ScopeMissing)

_log = structlog.get_logger(__name__)


class EventsApp:
    """Serves /events."""

    def __init__(
        self, hub: Hub, admission: Admission, verifier: Verifier, audit: Audit, *, base_url: str, version: str
    ) -> None:
        self._document = msgspec.json.encode(openapi_document(path=PATH.decode(), base_url=base_url, version=version))
        self._hub = hub
        self._admission = admission
        self._verifier = verifier
        self._audit = audit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller: Caller | None = None
        try:
            if _is_for_document(scope):
                await Response(self._document, media_type="application/json")(scope, receive, send)
                return
            scope["domogate.operation"] = OPERATION
            caller = await let_in(scope["headers"], self._admission, self._verifier)
            stream = await self._hub.open(caller, read_wish(scope["query_string"]), _last_event_id(scope["headers"]))
        except Problem as problem:
            response = problem.to_response()
        except Unavailable as unavailable:
            response = Problem(503, str(unavailable), {"retry-after": str(unavailable.retry_after)}).to_response()
        except Fault as fault:
            response = problem_of(fault).to_response()
            if caller is not None and isinstance(fault, _NOTED_REFUSALS):
                self._note_refusal(caller, fault, scope)
        except Exception:
            _log.exception("a stream could not be opened")
            response = Problem(500, "The gateway failed to answer; its log says why.").to_response()
        else:
            scope["domogate.stream"] = True
            until_taken = scope.get(_TAKEN) or partial(send, _NOTHING)
            await _write(stream, receive, send, until_taken, caller.admitted.headers)
            return
        await _refuse(response, caller, scope, receive, send)

    def _note_refusal(self, caller: Caller, fault: Fault, scope: Scope) -> None:
        client = scope["client"]
        self._audit.note(
            AuditAction.REFUSAL,
            who=caller.principal.user_id,
            what=f"{OPERATION} {type(fault).__name__} by {client_ref(caller.principal.client_id)}",
            result=AuditResult.REFUSED,
            address=client[0] if client else "",
        )


async def _write(
    stream: Stream, receive: Receive, send: Send, until_taken: Callable[[], Awaitable[None]], admitted: tuple[Header, ...]
) -> None:
    watcher = asyncio.create_task(_watch(receive, stream))
    try:
        await send({"type": "http.response.start", "status": 200, "headers": [*_HEADERS, *admitted]})
        async with aclosing(stream.frames()) as pieces:
            while True:
                # First wait, then ask: the piece is one that may be told at this moment, and is written at this moment.
                await until_taken()
                piece = await anext(pieces, None)
                if piece is None:
                    break
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
    finally:
        stream.close()
        watcher.cancel()


async def _watch(receive: Receive, stream: Stream) -> None:
    """Until the client is gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
    stream.close()


async def _refuse(response: Response, caller: Caller | None, scope: Scope, receive: Receive, send: Send) -> None:
    if caller is not None:
        response.raw_headers += caller.admitted.headers
    await response(scope, receive, send)


def _is_for_document(scope: Scope) -> bool:
    """The document, or the stream. Raises Problem for anything else."""
    path: bytes = scope["raw_path"]
    if path not in (PATH, DOCUMENT):
        raise Problem(404, "There is nothing at this URL; the stream of events is at /events.")
    if scope["method"] not in ("GET", "HEAD"):
        raise Problem(405, f"{scope['method']} is not a method of this URL.", {"allow": "GET, HEAD"})
    return path == DOCUMENT


def _last_event_id(headers: list[Header]) -> bytes | None:
    found = [value for name, value in headers if name == _LAST_EVENT_ID]
    if len(found) > 1:
        raise Problem(400, "The header Last-Event-ID is there more than once.")
    return found[0].strip() if found else None
