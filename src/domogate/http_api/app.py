"""Serves a surface: finds the operation, checks credentials, reads the request, and answers."""

import hashlib
from functools import cached_property
from typing import Any, Generic, TypeVar

import msgspec
from starlette.responses import Response

from domogate.common.http_messages import (
    Answer,
    Receive,
    Request,
    Scope,
    Send,
    join_header,
    make_answer,
    matches_etag,
    request_of,
    send_answer,
)
from domogate.common.log import get_logger
from domogate.domain.faults import Fault, Internal
from domogate.http_api.credentials import Credentials
from domogate.http_api.openapi import describe_surface
from domogate.http_api.operations import JSON, Call, Operation, Surface
from domogate.http_api.problems import Problem, problem_of
from domogate.http_api.requests import read_body, read_header, read_query
from domogate.http_api.routes import routes_of
from domogate.ports import StoreUnavailable
from domogate.services.refusals import Refused

S = TypeVar("S")
C = TypeVar("C")

METRICS_LABEL = "domogate.operation"
"""The key in the ASGI scope for the name of the operation in the metrics and in the access log."""
_NO_STORE = {"cache-control": "no-store"}
_FAILED = "the gateway failed to answer; its log says why"

_log = get_logger(__name__)


class SurfaceApp(Generic[S, C]):
    """Serves a surface.

    The paths of its requests are complete: /manage/v1/users, not /users. Every handler gets `services` as an argument.
    """

    def __init__(
        self, surface: Surface, services: S, credentials: Credentials[C], *, base_url: str, version: str, max_body: int = 65_536
    ) -> None:
        self._surface = surface
        self._services = services
        self._credentials = credentials
        self._base_url = base_url
        self._version = version
        self._max_body = max_body
        self._routes = routes_of(surface)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = request_of(scope, receive)
        try:
            answer = await self._check_and_answer(request)
        finally:
            scope[METRICS_LABEL] = request.operation
        if isinstance(answer, Answer):
            await send_answer(send, answer)
        else:
            await answer(scope, receive, send)

    async def answer(self, request: Request) -> Answer:
        """Answer a direct request, which comes without the ASGI interface (Decision 0106).

        The handler of the operation must return data, not a Response of Starlette, because such a response needs ASGI.
        """
        answer = await self._check_and_answer(request)
        assert isinstance(answer, Answer)
        return answer

    async def _check_and_answer(self, request: Request) -> Answer | Response:
        caller: C | None = None
        label = ""
        try:
            if request.raw_path == self._surface.document.encode():
                _check_method(request, ("GET", "HEAD"))
                answer: Answer | Response = make_answer(200, self._document, {}, JSON)
            else:
                operation, parameters = self._find(request)
                label = operation.label
                request.operation = self._surface.metrics_label_of(operation)
                if not operation.anonymous:
                    caller = await self._credentials.check(request, label)
                answer = await self._answer(operation, request, caller, parameters)
        except (Problem, Refused, Fault) as error:
            answer = problem_of(error).to_answer()
            if caller is not None:
                self._credentials.note_refusal(caller, error, request, label)
        except Exception as error:
            _log.exception("operation failed", surface=self._surface.name, operation=label or None)
            said = error.public_message if isinstance(error, StoreUnavailable) else _FAILED
            answer = problem_of(Internal(said, is_temporary=isinstance(error, StoreUnavailable))).to_answer()
        # An answer without further headers stays unchanged, because it may be sent again to other callers.
        if caller is not None and (more := self._credentials.headers_for(caller)):
            headers = answer.headers if isinstance(answer, Answer) else answer.raw_headers
            headers += more
        return answer

    async def _answer(
        self, operation: Operation, request: Request, caller: C | None, parameters: dict[str, str]
    ) -> Answer | Response:
        if operation.admit is not None:
            operation.admit(self._services, request.address)
        header = None if operation.header is None else read_header(request, operation.header.name)
        read: dict[str, Any] = {}
        if operation.query is not None:
            read["query"] = read_query(request.query, operation.query)
        if operation.body is not None:
            read["body"] = await read_body(request, operation.body, operation.max_body or self._max_body)
        call = Call(caller, request.address, parameters, header)
        answer = await operation.handler(self._services, call, **read)
        if isinstance(answer, Response):
            answer.headers.setdefault("cache-control", "no-store")
            return answer
        content = b"" if operation.answer is None else msgspec.json.encode(answer)
        if operation.has_etag:
            return _with_etag(content, request)
        return make_answer(operation.status, content, _NO_STORE, None if operation.answer is None else JSON)

    @cached_property
    def _document(self) -> bytes:
        """Return the OpenAPI document.

        The document is made when it is first requested: making it takes long, and would delay the start.
        """
        document = describe_surface(self._surface, base_url=self._base_url, version=self._version)
        return msgspec.json.encode(document)

    def _find(self, request: Request) -> tuple[Operation, dict[str, str]]:
        """Return the operation and its path parameters. Raises Problem for an unknown path or a wrong method."""
        found = request.notes.get("route")
        if found is None:
            found = request.notes["route"] = self._routes.find(request.raw_path)
        if found is None:
            raise Problem(404, f"No operation has this URL; {self._surface.document} lists all operations.")
        methods, parameters = found
        _check_method(request, methods)
        return methods[request.method], parameters


def _with_etag(content: bytes, request: Request) -> Answer:
    etag = f'"{hashlib.blake2b(content, digest_size=16).hexdigest()}"'
    headers = {"etag": etag, "cache-control": "private, no-cache"}
    if matches_etag(join_header(request.headers, b"if-none-match"), etag.encode()):
        return make_answer(304, b"", headers)
    return make_answer(200, content, headers, JSON)


def _check_method(request: Request, allowed: Any) -> None:
    if request.method not in allowed:
        raise Problem(405, f"This URL does not take the method {request.method}.", {"allow": ", ".join(sorted(allowed))})
