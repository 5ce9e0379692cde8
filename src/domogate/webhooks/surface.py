"""The ASGI app of everything under /webhooks: applications register where they want to be told, and look after it."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import msgspec
import structlog
from starlette.requests import Request
from starlette.responses import Response

from domogate.domain.faults import Fault, NotYourPlant, ScopeMissing
from domogate.domain.ids import DASHED_UUID, Id
from domogate.domain.people import Principal
from domogate.http_api.problems import Problem
from domogate.http_api.refusals import problem_of
from domogate.http_api.requests import read_body, read_query
from domogate.ports import Admission, Audit, Verifier
from domogate.services.audit.log import AuditAction, AuditResult, client_ref
from domogate.services.refusals import Conflict, Forbidden, Invalid, NotFound, Refused
from domogate.services.rights.credentials import Caller, let_in
from domogate.services.webhooks.registration import Webhooks
from domogate.webhooks.openapi import openapi_document
from domogate.webhooks.wire import (
    ID,
    OPERATIONS,
    DeadLetterPage,
    MadeWebhook,
    NewWebhook,
    ShownDeadLetters,
    ShownPing,
    ShownSecret,
    ShownWebhooks,
    WebhookOperation,
)
from domogate.wire.webhooks import Replay, Replayed, read_cursors, show_dead_letter, show_webhook

PATH = "/webhooks"
DOCUMENT = f"{PATH}/openapi.json"

_STATUS_OF: dict[type[Refused], int] = {NotFound: 404, Invalid: 422, Conflict: 409, Forbidden: 403}

# Who proved who they are and went beyond what they may, as in the families.
_NOTED_REFUSALS = (NotYourPlant, ScopeMissing)

_log = structlog.get_logger(__name__)


class _Call(msgspec.Struct, frozen=True):
    """A request of an application that was let in."""

    request: Request
    principal: Principal
    address: str
    webhook_id: Id | None

    @property
    def id(self) -> Id:
        if self.webhook_id is None:
            raise NotFound("There is no such webhook.")
        return self.webhook_id


_Handler = Callable[[_Call], Awaitable[Any]]


class WebhooksApp:
    """Serves /webhooks, by a subscription key and a token of either kind."""

    def __init__(
        self,
        webhooks: Webhooks,
        admission: Admission,
        verifier: Verifier,
        audit: Audit,
        *,
        base_url: str,
        version: str,
        max_body: int = 65_536,
    ) -> None:
        self._webhooks = webhooks
        self._admission = admission
        self._verifier = verifier
        self._audit = audit
        self._max_body = max_body
        self._document = msgspec.json.encode(openapi_document(OPERATIONS, path=PATH, base_url=base_url, version=version))
        self._handlers: dict[str, _Handler] = {
            "registerWebhook": self._register,
            "listWebhooks": self._list,
            "getWebhook": self._get,
            "removeWebhook": self._remove,
            "renewWebhookSecret": self._renew_secret,
            "testWebhook": self._test,
            "listDeadLetters": self._list_dead,
            "replayDeadLetters": self._replay,
        }
        self._routes: dict[tuple[str, ...], dict[str, WebhookOperation]] = {}
        for operation in OPERATIONS:
            self._routes.setdefault(operation.path, {})[operation.method] = operation

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        request = Request(scope, receive)
        caller: Caller | None = None
        try:
            if scope["path"] == DOCUMENT and request.method in ("GET", "HEAD"):
                response = Response(self._document, media_type="application/json")
            else:
                operation, webhook_id = self._find(request)
                caller = await let_in(scope["headers"], self._admission, self._verifier)
                address = request.client.host if request.client is not None else ""
                answer = await self._handlers[operation.id](_Call(request, caller.principal, address, webhook_id))
                response = _respond(operation, answer)
        except Problem as problem:
            response = problem.to_response()
        except Refused as refused:
            response = Problem(_STATUS_OF[type(refused)], str(refused)).to_response()
        except Fault as fault:
            response = problem_of(fault).to_response()
            if caller is not None and isinstance(fault, _NOTED_REFUSALS):
                self._note_refusal(caller, fault, request)
        except Exception:
            _log.exception("an operation on webhooks failed", operation=scope.get("domogate.operation"))
            response = Problem(500, "The gateway failed to answer; its log says why.").to_response()
        if caller is not None:
            response.raw_headers += caller.admitted.headers
        await response(scope, receive, send)

    def _find(self, request: Request) -> tuple[WebhookOperation, Id | None]:
        """By the path as it was sent. What is no id leads nowhere, like an id that is nobody's."""
        path: bytes = request.scope.get("raw_path") or request.scope["path"].encode()
        segments = path.decode("latin-1").split("/")[2:]
        methods = self._routes.get(tuple(segments if not segments else (ID, *segments[1:])))
        if methods is None or (segments and not segments[0]):
            raise Problem(404, f"There is nothing at this URL; {DOCUMENT} lists what there is.")
        method = "GET" if request.method == "HEAD" else request.method
        if method not in methods:
            allowed = ", ".join(sorted({*methods, "HEAD"} if "GET" in methods else methods))
            raise Problem(405, f"{request.method} is not a method of this URL.", {"allow": allowed})
        request.scope["domogate.operation"] = methods[method].id
        return methods[method], DASHED_UUID.parse_id(segments[0]) if segments else None

    def _note_refusal(self, caller: Caller, fault: Fault, request: Request) -> None:
        operation = request.scope["domogate.operation"]
        self._audit.note(
            AuditAction.REFUSAL,
            who=caller.principal.user_id,
            what=f"{operation} {type(fault).__name__} by {client_ref(caller.principal.client_id)}",
            result=AuditResult.REFUSED,
            address=request.client.host if request.client is not None else "",
        )

    # operations

    async def _register(self, call: _Call) -> MadeWebhook:
        wanted = await read_body(call.request, NewWebhook, self._max_body)
        plant_id = DASHED_UUID.parse_id(wanted.plant_id)
        if plant_id is None:
            raise Problem(400, f"The body is not as expected: plantId must be {DASHED_UUID.name}.")
        made = await self._webhooks.register(call.principal, plant_id, wanted.url, kinds=wanted.kinds, address=call.address)
        return MadeWebhook(**msgspec.structs.asdict(show_webhook(made)), secret=made.secret)

    async def _list(self, call: _Call) -> ShownWebhooks:
        return ShownWebhooks([show_webhook(one) for one in await self._webhooks.list_own(call.principal)])

    async def _get(self, call: _Call) -> Any:
        return show_webhook(await self._webhooks.get_own(call.principal, call.id))

    async def _remove(self, call: _Call) -> None:
        await self._webhooks.remove(call.principal, call.id, address=call.address)

    async def _renew_secret(self, call: _Call) -> ShownSecret:
        return ShownSecret(await self._webhooks.renew_secret(call.principal, call.id, address=call.address))

    async def _test(self, call: _Call) -> ShownPing:
        ping = await self._webhooks.ping(call.principal, call.id)
        return ShownPing(ping.taken, ping.status, ping.problem)

    async def _list_dead(self, call: _Call) -> ShownDeadLetters:
        page = read_query(call.request, DeadLetterPage)
        found = await self._webhooks.list_dead(call.principal, call.id, after=page.after, limit=page.limit + 1)
        shown = [show_dead_letter(letter) for letter in found[: page.limit]]
        return ShownDeadLetters(shown, shown[-1].id if len(found) > page.limit else None)

    async def _replay(self, call: _Call) -> Replayed:
        wanted = await read_body(call.request, Replay, self._max_body)
        try:
            cursors = read_cursors(wanted.ids)
        except ValueError as error:
            raise Problem(400, f"The body is not as expected: {error}.") from None
        return Replayed(await self._webhooks.replay(call.principal, call.id, cursors, address=call.address))


def _respond(operation: WebhookOperation, answer: Any) -> Response:
    headers = {"cache-control": "no-store"}
    if operation.answer is None:
        return Response(status_code=operation.status, headers=headers)
    return Response(msgspec.json.encode(answer), operation.status, headers, "application/json")
