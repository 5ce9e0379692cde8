"""Serves a family as an ASGI application. The steps run in the order of the checks (Decision 0016)."""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time
from email.utils import format_datetime
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

import msgspec

from domogate.common import strict_json
from domogate.common.http_messages import (
    Answer,
    BodyIncomplete,
    BodyTooLong,
    Header,
    Receive,
    Request,
    Scope,
    Send,
    matches_etag,
    receive_body,
    request_of,
    send_answer,
)
from domogate.common.log import get_logger
from domogate.domain.devices import DeviceKind
from domogate.domain.faults import (
    BodyTooLarge,
    Fault,
    Internal,
    MalformedId,
    MalformedRequest,
    NoSuchAmbient,
    NoSuchModule,
    NotAcceptable,
    ScopeMissing,
    TokenRefused,
    TooManyRequests,
    WrongMethod,
)
from domogate.domain.people import Principal, TokenKind
from domogate.families._call import Call, Services
from domogate.families._errors import challenge
from domogate.families._family import Family, Lifecycle, Operation
from domogate.families._injected import raise_injected
from domogate.families._ladder import status_of
from domogate.families._routes import Target, routes_of
from domogate.families._wire import EMPTY_ANSWER, encode
from domogate.ports import Admission, Verifier
from domogate.services.audit import note_refusal
from domogate.services.rights.access import check_standing, find_token, get_access, read_headers

_log = get_logger(__name__)

T = TypeVar("T")
_SHORT_BODY = 256  # In bytes. Short bodies are often repeated, such as `{"status":"on"}`, so they are parsed once.


class _Parsed(NamedTuple):
    """The parsed parts of a request that passed all checks. If the same request comes again, it is not parsed again."""

    target: Target
    headers: dict[bytes, bytes]
    key: bytes
    unverified_token: bytes
    principal: Principal


class FamilyApp:
    """Serves one family: finds the operation, runs the checks, calls the handler, and answers faults in the family's shape."""

    def __init__(
        self,
        family: Family,
        services: Services,
        *,
        admission: Admission,
        verifier: Verifier,
        max_body: int,
        sunset: Mapping[str, date],
    ) -> None:
        self._family = family
        self._services = services
        self._read_model = services.read_model
        self._now = services.clock.now
        self._admission = admission
        self._verifier = verifier
        self._max_body = max_body
        self._routes = routes_of(family)
        self._headers: dict[str, list[Header]] = {
            operation.id: _lifecycle_headers(
                family.lifecycle_of(operation), sunset.get(operation.id) or sunset.get(family.slug)
            )
            for operation in family.operations
        }
        self._empty_answers = {name: _add_headers(EMPTY_ANSWER, headers) for name, headers in self._headers.items()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = request_of(scope, receive)
        try:
            answer = await self.answer(request)
        finally:
            scope["domogate.operation"] = request.operation
        await send_answer(send, answer)

    async def answer(self, request: Request) -> Answer:
        """Answer a request. If everything that a read needs is in memory, this coroutine ends without waiting."""
        operation: Operation | None = None
        principal: Principal | None = None
        extra: Sequence[Header] = ()
        try:
            # A request that was answered before is not parsed again. Its key, its token and the rights on the plant are checked
            # again. Checks that depend only on its bytes and its principal are not repeated for the same principal.
            known: _Parsed | None = request.notes.get("family")
            target = known.target if known else self._find_target(request)
            operation = target.operation
            request.operation = operation.id
            extra = self._headers[operation.id]
            headers, key = (known.headers, known.key) if known else read_headers(request.headers)
            admitted = self._admission.admit_known(key) or await self._admission.admit(key)
            if admitted.headers:
                extra = [*extra, *admitted.headers]
            unverified_token = known.unverified_token if known else find_token(headers)
            principal = self._verifier.find_verified(unverified_token) or await self._verifier.verify(unverified_token)
            if known is None or known.principal is not principal:
                self._check_principal(operation, principal)
                _check_request(target, headers)
            call = Call(principal, request.address, reference=target.reference)
            if target.subscription_id is not None:
                call.subscription_id = target.subscription_id
            if operation.body is not None:
                body = await read_body(request, self._max_body)
                parse = _parse_short_body if len(body) <= _SHORT_BODY else parse_body
                call.document, call.body = parse(body, operation.body)
            if target.plant_id is not None:
                plant = self._read_model.find_plant(target.plant_id) or await self._read_model.get_plant(target.plant_id)
                call.plant = get_access(principal, target.plant_id, plant, self._now()).plant
                self._find_places(target, call)
            if known is None:
                asked = request.method, request.raw_path
                if self._routes.find_kept(asked) is None:
                    self._routes.keep(asked, target)
                request.notes["family"] = _Parsed(target, headers, key, unverified_token, principal)
            answer = await operation.handler(self._services, call)
            if answer.not_modified is not None and matches_etag(headers.get(b"if-none-match"), answer.etag):
                answer = answer.not_modified
        except Fault as fault:
            answer = self._refuse(fault, operation)
            if principal is not None:
                note_refusal(self._services.audit, principal, request.operation, fault, request.address)
        except Exception:
            _log.exception("an operation failed", operation=operation and operation.id)
            answer = self._refuse(Internal("the gateway failed to answer; the gateway's log has the reason"), operation)
        if not extra:
            return answer
        if answer is EMPTY_ANSWER and extra is self._headers[request.operation]:
            return self._empty_answers[request.operation]
        return _add_headers(answer, extra)

    def _find_target(self, request: Request) -> Target:
        asked = request.method, request.raw_path
        return self._routes.find_kept(asked) or self._routes.parse(*asked)

    def _check_principal(self, operation: Operation, principal: Principal) -> None:
        """Check the token of a request, then the standing of its user.

        The order is: the kind and grant type of the token (Spec 5.2), its scopes (Spec 5.3), the standing of the user.

        Raises a fault if one of them is refused. The standing is checked only if the operation declares status 469. An expired
        password (469) is refused before expired terms (470).
        """
        family = self._family
        if principal.kind not in family.tokens and not (
            principal.access_token_everywhere and principal.kind is TokenKind.ACCESS
        ):
            wanted = " or ".join(sorted(family.tokens))
            raise TokenRefused(f"{family.name} takes an {wanted} token, but this is an {principal.kind} token")
        if principal.flow not in family.grants:
            raise TokenRefused(
                f"{family.name} does not accept tokens of the grant type {principal.flow}; "
                "use the grant type authorization_code"
            )
        if operation.scopes and principal.scopes.isdisjoint(operation.scopes):
            raise ScopeMissing(f"the token lacks the scope {' or '.join(operation.scopes)}", operation.scopes)
        if 469 in operation.errors:
            check_standing(principal.standing)

    def _find_places(self, target: Target, call: Call) -> None:
        """Find the ambient or the module that the path names, and write it into `call`.

        Raises NoSuchAmbient or NoSuchModule if the plant does not have it. Also raises NoSuchModule if the operation is not for
        this kind of module. Otherwise `raise_injected` raises an injected fault of the plant or module, if there is one. But
        the driven plant applies the injected faults that need a device, such as offline.
        """
        operation, plant = target.operation, call.plant
        if target.module_id is not None:
            module = plant.modules.get(target.module_id)
            if module is None or module.module.kind not in operation.kinds:
                raise self._no_module(operation, module.module.kind if module else None)
            call.module = module
        elif target.ambient_id is not None:
            ambient = plant.ambients.get(target.ambient_id)
            if ambient is None:
                raise NoSuchAmbient(f"the plant has no ambient with the id given as {self._parameter(operation, 'ambient')}")
            call.ambient = ambient
        if plant.injections:
            raise_injected(plant.injections, operation, call, target.module_id, self._now())

    def _parameter(self, operation: Operation, role: str) -> str:
        return next(parameter.name for parameter in operation.parameters if parameter.role == role)

    def _no_module(self, operation: Operation, kind: DeviceKind | None) -> NoSuchModule:
        name, wanted = self._parameter(operation, "module"), " or ".join(sorted(operation.kinds))
        if kind is None:
            return NoSuchModule(f"the plant has no {wanted} with the id given as {name}")
        return NoSuchModule(f"{name} names a module of kind {kind}; this operation is for {wanted}")

    def _refuse(self, fault: Fault, operation: Operation | None) -> Answer:
        return build_refusal(self._family, status_of(type(fault), operation.errors if operation else frozenset()), fault)


def build_refusal(family: Family, status: int, fault: Fault) -> Answer:
    """Return the answer with this status, in the error shape of the family."""
    body = encode(family.error_shape(status, fault))
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
        (b"cache-control", b"no-store"),
        (b"x-fault", b"%d" % fault.code),
    ]
    if status == 401:
        headers.append((b"www-authenticate", challenge(fault)))
    if isinstance(fault, WrongMethod):
        headers.append((b"allow", fault.allow.encode()))
    if isinstance(fault, TooManyRequests):
        headers += [(b"retry-after", b"%d" % fault.retry_after), *fault.headers]
    if status == 503:
        headers.append((b"retry-after", b"1"))
    return Answer(status, body, headers)


def _add_headers(answer: Answer, headers: Sequence[Header]) -> Answer:
    """Return a copy of the answer with more headers. The answer itself may be cached and shared, so it is not changed."""
    return Answer(answer.status, answer.body, [*answer.headers, *headers])


def _check_request(target: Target, headers: dict[bytes, bytes]) -> None:
    """Check the header Accept, the ids in the path, and the header Content-Type. Raises a fault if one of them is wrong."""
    operation = target.operation
    if 406 in operation.errors:
        _check_accept(headers.get(b"accept"))
    if target.malformed is not None:
        raise MalformedId(target.malformed)
    if operation.body is not None:
        check_content_type(headers.get(b"content-type"))


def _check_accept(accept: bytes | None) -> None:
    """Raise NotAcceptable (406) if the client does not accept JSON (Spec 7). Only E1 to E4 and X5 have this check."""
    if not accept or accept in (b"application/json", b"*/*"):
        return
    admitted: dict[bytes, bool] = {}
    for choice in accept.lower().split(b","):
        media_range, *parameters = (part.strip() for part in choice.split(b";"))
        admitted[media_range] = admitted.get(media_range, False) or not any(map(_is_zero_weight, parameters))
    # The most specific media range decides (RFC 9110 §12.5.1).
    for media_range in (b"application/json", b"application/*", b"*/*"):
        if media_range in admitted:
            if admitted[media_range]:
                return
            break
    raise NotAcceptable("the answer is application/json, which the Accept header does not admit")


def _is_zero_weight(parameter: bytes) -> bool:
    name, _, weight = parameter.partition(b"=")
    return name.strip() == b"q" and weight.strip().rstrip(b"0") in (b"", b"0.", b".")


def _lifecycle_headers(lifecycle: Lifecycle, sunset: date | None) -> list[Header]:
    """Return Deprecation (RFC 9745) for a deprecated operation, and Sunset (RFC 8594) if a date for its removal is set."""
    headers: list[Header] = []
    if lifecycle.deprecated_since is not None:
        headers.append((b"deprecation", b"@%d" % _midnight(lifecycle.deprecated_since).timestamp()))
    if sunset is not None:
        headers.append((b"sunset", format_datetime(_midnight(sunset), usegmt=True).encode()))
    return headers


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


# Reading the body: strict JSON up to a size limit. msgspec checks the types.


async def read_body(request: Request, limit: int) -> bytes:
    """Return the whole body. Raises BodyTooLarge if it is longer than `limit`, MalformedRequest if it is not complete."""
    if request.receive is None and len(request.body) <= limit:
        return request.body  # This is the usual case. The call below would return the same.
    try:
        return await receive_body(request, limit)
    except BodyTooLong:
        raise BodyTooLarge(f"the body is larger than {limit} bytes") from None
    except BodyIncomplete:
        raise MalformedRequest("the request ended before its body was complete") from None


def check_content_type(value: bytes | None) -> None:
    """Check the header Content-Type. A JSON media type is accepted.

    A missing header is accepted too, because the header is optional (Spec 4).

    Raises MalformedRequest for any other value.
    """
    if not value or value == b"application/json":
        return
    media_type, *parameters = (part.strip() for part in value.lower().split(b";"))
    if media_type != b"application/json" and not (media_type.startswith(b"application/") and media_type.endswith(b"+json")):
        raise MalformedRequest("Content-Type must be application/json, or be left out")
    for parameter in parameters:
        name, _, charset = parameter.partition(b"=")
        if name == b"charset" and charset.strip(b'"') != b"utf-8":
            raise MalformedRequest("the body's charset must be utf-8")


def parse_body(body: bytes, to: type[T]) -> tuple[Any, T]:
    """Return the JSON object in the body, and an object of the type `to` with its values. Handlers must not change the two.

    The handler checks enumerations and ranges later. Raises MalformedRequest if the body is not a JSON object, or if one of its
    fields has a wrong type.
    """
    try:
        document = strict_json.parse_json(body)
    except strict_json.JsonRefused as refused:
        raise MalformedRequest(f"the body {refused}") from None
    if not isinstance(document, dict):
        raise MalformedRequest("the body must be a JSON object")
    try:
        return document, msgspec.convert(document, to, strict=True)
    except msgspec.ValidationError as error:
        raise MalformedRequest(f"the body is not valid: {error}") from None


_parse_short_body = lru_cache(maxsize=256)(parse_body)
