"""The ASGI app of everything under /manage. It is given whole paths: /manage/v1/users, not /users."""

from collections.abc import Callable, MutableMapping, Sequence
from functools import cached_property
from typing import Any
from urllib.parse import unquote_to_bytes

import msgspec
import structlog
from starlette.requests import Request
from starlette.responses import Response

from domogate.domain.faults import Fault, TokenRefused
from domogate.domain.people import MANAGE_SCOPE, GrantType, TokenKind, User
from domogate.http_api.problems import Problem
from domogate.http_api.requests import read_body, read_query
from domogate.management.openapi import openapi_document
from domogate.management.operation import Call, Desk, Devices, ManagementStore, NewSubscription, Operation, SigningKeys
from domogate.management.operations import OPERATIONS
from domogate.management.problems import from_fault, from_refusal, lacks_scope, not_let_in
from domogate.ports import Clock, Verifier
from domogate.services.audit.log import AuditAction, AuditLog, AuditResult
from domogate.services.people import People
from domogate.services.refusals import Refused
from domogate.services.rights.access import may_manage

PREFIX = "/manage/v1"
DOCUMENT = f"{PREFIX}/openapi.json"

_log = structlog.get_logger(__name__)


def build(
    people: People,
    store: ManagementStore,
    verifier: Verifier,
    *,
    clock: Clock,
    audit: AuditLog,
    new_subscription: NewSubscription,
    signing_keys: SigningKeys,
    devices: Devices,
    base_url: str,
    version: str,
    max_body: int = 65_536,
) -> "ManagementApp":
    """The app of all operations."""
    desk = Desk(people, store, clock, audit, new_subscription, signing_keys, devices)

    def describe() -> dict[str, Any]:
        return openapi_document(OPERATIONS, prefix=PREFIX, base_url=base_url, version=version)

    return ManagementApp(desk, verifier, OPERATIONS, describe, max_body=max_body)


class ManagementApp:
    """Finds the operation, lets operators in, reads what they sent, and answers."""

    def __init__(
        self,
        desk: Desk,
        verifier: Verifier,
        operations: Sequence[Operation],
        describe: Callable[[], dict[str, Any]],
        *,
        max_body: int,
    ) -> None:
        self._desk = desk
        self._verifier = verifier
        self._describe = describe
        self._max_body = max_body
        self._routes: list[tuple[list[str], dict[str, Operation]]] = []
        by_path: dict[str, dict[str, Operation]] = {}
        for operation in operations:
            methods = by_path.setdefault(operation.path, {})
            if operation.method in methods:
                raise ValueError(f"{operation.id}: {operation.method} {operation.path} is declared twice")
            methods[operation.method] = operation
        for path, methods in by_path.items():
            self._routes.append((path.split("/")[1:], methods))

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        request = Request(scope, receive)
        try:
            response = await self._answer(request)
        except Problem as problem:
            response = problem.to_response()
        except Refused as refused:
            response = from_refusal(refused).to_response()
        except Fault as fault:
            response = from_fault(fault).to_response()
        except Exception:
            _log.exception("a management operation failed", operation=scope.get("domogate.operation"))
            response = Problem(500, "The gateway failed to answer; its log says why.").to_response()
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        path: bytes = request.scope.get("raw_path") or request.scope["path"].encode()
        if path == DOCUMENT.encode():
            if request.method not in ("GET", "HEAD"):
                raise _wrong_method(request, ["GET"])
            return Response(self._document, media_type="application/json")
        operation, parameters = self._find(path, request)
        request.scope["domogate.operation"] = operation.id
        operator = await self._let_in(operation, request)
        call = Call(
            operator,
            _address(request),
            parameters,
            None if operation.query is None else read_query(request, operation.query),
            None if operation.body is None else await read_body(request, operation.body, self._max_body),
            _idempotency_key(request) if operation.takes_key else None,
        )
        answer = await operation.handler(self._desk, call)
        # What is shown here is for the operator alone, and some of it is shown only once.
        headers = {"cache-control": "no-store"}
        if operation.answer is None:
            return Response(status_code=204, headers=headers)
        content = answer if operation.answer is bytes else msgspec.json.encode(answer)
        return Response(content, operation.status, headers, operation.media_type)

    @cached_property
    def _document(self) -> bytes:
        """Made when it is first asked for: it takes as long as the rest of a start."""
        return msgspec.json.encode(self._describe())

    def _find(self, path: bytes, request: Request) -> tuple[Operation, dict[str, str]]:
        """By the segments as they were sent: a client id may hold a slash, written %2F."""
        given = path.removeprefix(PREFIX.encode()).split(b"/")
        if path.startswith(f"{PREFIX}/".encode()):
            for segments, methods in self._routes:
                parameters = _match(segments, given[1:])
                if parameters is not None:
                    if request.method not in methods:
                        raise _wrong_method(request, methods)
                    return methods[request.method], parameters
        raise Problem(404, f"There is nothing at this URL; {DOCUMENT} lists what there is.")

    async def _let_in(self, operation: Operation, request: Request) -> User:
        """Token, kind, grant and scope; then, from the store at every request, whether the user is an operator."""
        unverified_token = _unverified_token(request)
        try:
            principal = self._verifier.find_verified(unverified_token) or await self._verifier.verify(unverified_token)
        except TokenRefused as refused:
            raise not_let_in(refused.message, given=True) from None
        if principal.kind is not TokenKind.ACCESS:
            raise not_let_in("The management API takes an access token, and this is an id token.", given=True)
        if principal.flow is GrantType.IMPLICIT:
            raise not_let_in("The management API takes no token from the implicit grant.", given=True)
        if MANAGE_SCOPE not in principal.scopes:
            raise lacks_scope()
        user = await self._desk.store.find_user(principal.user_id)
        if user is None:
            raise not_let_in("The token's user does not exist here.", given=True)
        if not may_manage(user):
            self._desk.audit.note(
                AuditAction.REFUSAL,
                who=user.id,
                what=f"management:{operation.id}",
                result=AuditResult.REFUSED,
                address=_address(request),
            )
            raise Problem(403, "The token's user is not an operator; another operator can make them one.")
        return user


def _match(segments: Sequence[str], given: Sequence[bytes]) -> dict[str, str] | None:
    if len(segments) != len(given):
        return None
    parameters: dict[str, str] = {}
    for segment, sent in zip(segments, given, strict=True):
        if segment.startswith("{"):
            try:
                parameters[segment[1:-1]] = unquote_to_bytes(sent).decode()
            except UnicodeDecodeError:
                return None
        elif segment.encode() != sent:
            return None
    return parameters if all(parameters.values()) else None


def _unverified_token(request: Request) -> bytes:
    """RFC 6750 §2.1, and nothing else: a token in a form or in a query is not read."""
    sent = request.headers.getlist("authorization")
    if len(sent) > 1:
        raise not_let_in("The header Authorization is there more than once.", given=False)
    scheme, _, token = (sent[0] if sent else "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise not_let_in("The header Authorization with `Bearer` and an access token is missing.", given=False)
    return token.strip(" ").encode("latin-1")


def _idempotency_key(request: Request) -> str | None:
    sent = request.headers.getlist("idempotency-key")
    if len(sent) > 1:
        raise Problem(400, "The header Idempotency-Key is there more than once.")
    return sent[0] if sent else None


def _address(request: Request) -> str:
    return request.client.host if request.client is not None else ""


def _wrong_method(request: Request, allowed: Any) -> Problem:
    return Problem(405, f"{request.method} is not a method of this URL.", {"allow": ", ".join(sorted(allowed))})
