"""Declarations of operations and surfaces. They are used to serve, document and test requests."""

import re
import typing
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, Generic, TypeVar

import msgspec
from starlette.responses import Response

from domogate.domain.ids import DASHED_UUID, Id
from domogate.http_api.credentials import Credentials
from domogate.services.refusals import NotFound
from domogate.wire.openapi import operation_id_of

JSON = "application/json"

_PARAMETERS = re.compile(r"\{(\w+)\}")

C = TypeVar("C")
Handler = Callable[..., Awaitable[Any]]
H = TypeVar("H", bound=Handler)


class Call(msgspec.Struct, Generic[C], frozen=True):
    """One request with checked credentials. The type of `caller` depends on the credentials of the surface.

    If the operation needs no credentials (`Operation.anonymous`), `caller` is None.
    """

    caller: C
    address: str
    path: dict[str, str]
    header: str | None = None
    """The value of the operation's request header, if the client sent it."""

    def id_of(self, parameter: str) -> Id:
        """Return a path parameter as an id. Raises NotFound for a text that is not an id."""
        found = DASHED_UUID.parse_id(self.path[parameter])
        if found is None:
            raise NotFound(f"{parameter} must be {DASHED_UUID.name}.")
        return found


class RequestHeader(msgspec.Struct, frozen=True):
    """A header that an operation reads. A request may contain this header at most once."""

    name: str
    description: str
    max_length: int | None = None


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One operation. `path` is relative to the surface's prefix."""

    id: str
    summary: str
    method: str
    path: str
    handler: Handler
    answer: Any
    """The type of the body of the answer: None for an empty body, Response for a body that is not JSON."""
    status: int
    body: Any = None
    query: Any = None
    header: RequestHeader | None = None
    has_etag: bool = False
    """True if the answer has an ETag. Then a request with the same If-None-Match gets 304 without a body (RFC 9110 §13.1.2)."""
    media_types: tuple[str, ...] = (JSON,)
    success: str = ""
    """A description of the success, if the status alone is not clear."""
    errors: Mapping[int, str] = {}
    """Statuses of refusals that not all operations have, each with a description. An empty text means the usual description."""
    anonymous: bool = False
    """True if the operation needs no credentials."""
    tag: str = ""
    max_body: int | None = None
    """The longest body in bytes, if the operation accepts longer bodies than the other operations of its surface."""
    admit: Callable[[Any, str], None] | None = None
    """Called with the services and the IP address before the body is read. It raises Problem to refuse the request."""
    label: str
    """The name of the operation in the audit log."""

    def __post_init__(self) -> None:
        if (self.answer is None) != (self.status == 204):
            raise ValueError(f"{self.id}: 204 and an empty body go together")
        if (self.answer is Response) != (self.media_types != (JSON,)):
            raise ValueError(f"{self.id}: a Response and its media types go together")
        if self.body is not None and self.method not in ("POST", "PATCH", "PUT"):
            raise ValueError(f"{self.id}: only POST, PATCH and PUT have a body")
        if len(set(self.parameters)) != len(self.parameters):
            raise ValueError(f"{self.id}: a path parameter occurs twice")

    @property
    def parameters(self) -> tuple[str, ...]:
        return tuple(_PARAMETERS.findall(self.path))

    @property
    def is_list(self) -> bool:
        return self.method == "GET" and self.handler.__name__.startswith("list_")

    @property
    def statuses(self) -> frozenset[int]:
        """The statuses of all refusals, except those of the credentials (`Credentials.errors`, for example 401 and 429)."""
        found = {500, 503, *self.errors}
        if self.parameters:
            found.add(404)
        if self.query is not None or self.header is not None:
            found.add(400)
        return frozenset(found | ({400, 413, 415} if self.body is not None else set()))


class OperationTable(list[Operation]):
    """The operations of one part of a surface, in the order of their declaration.

    `max_body` limits the length of a request body, in bytes, for each operation that declares no limit of its own.
    """

    def __init__(self, tag: str = "", max_body: int | None = None) -> None:
        super().__init__()
        self._tag = tag
        self._max_body = max_body

    def add(
        self,
        route: str,
        summary: str,
        *,
        status: int | None = None,
        errors: Collection[int] | Mapping[int, str] = (),
        label: str = "",
        max_body: int | None = None,
        **options: Any,
    ) -> Callable[[H], H]:
        """Declare the decorated handler as an operation. `options` sets fields of Operation that are not parameters here.

        `route` is the method and the path: `GET /users`. The path may be empty.

        The id is the name of the handler in camel case. The types of the answer, the body and the query come from the
        signature of the handler: `async def create_user(services, call, body: NewUser) -> CreatedUserOut`.
        """
        method, _, path = route.partition(" ")

        def register(handler: H) -> H:
            types = typing.get_type_hints(handler)
            answer = types["return"] if types["return"] is not type(None) else None
            operation_id = operation_id_of(handler)
            operation = Operation(
                id=operation_id,
                summary=summary,
                method=method,
                path=path,
                handler=handler,
                answer=answer,
                status=status or (204 if answer is None else 200),
                body=types.get("body"),
                query=types.get("query"),
                errors=errors if isinstance(errors, Mapping) else dict.fromkeys(errors, ""),
                tag=self._tag,
                max_body=max_body or self._max_body,
                label=label or operation_id,
                **options,
            )
            self.append(operation)
            return handler

        return register


class Surface(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Operations under one prefix, with one way to check credentials. Each surface is declared once, so it can be the key of a
    cache.
    """

    name: str
    prefix: str
    description: str
    operations: Sequence[Operation]
    credentials: type[Credentials[Any]]
    text_parameters: frozenset[str] = frozenset()
    """The names of path parameters that are not ids."""
    errors: Mapping[int, str] = {}
    """Descriptions of statuses that replace the usual descriptions."""
    serves_head: bool = False
    """True if HEAD is answered like GET."""
    amend: Callable[[dict[str, Any]], None] | None = None
    """Adds to the OpenAPI document what the declarations of operations cannot express."""

    def metrics_label_of(self, operation: Operation) -> str:
        """Return the name of the operation in metrics.

        It is `label`, the name in the audit log. But if `label` is only the id of the operation, the name of the surface is put
        before it. The reason: two surfaces may have operations with the same id.
        """
        return f"{self.name}.{operation.id}" if operation.label == operation.id else operation.label

    @property
    def document(self) -> str:
        """The path of the OpenAPI document."""
        return f"{self.prefix}/openapi.json"
