"""Operations and surfaces: one declaration, from which requests are served, documented and tested."""

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
    """One request, its credentials checked. What `caller` is depends on the surface's credentials."""

    caller: C
    address: str
    path: dict[str, str]
    header: str | None = None
    """Value of the operation's request header, if it was sent."""

    def id_of(self, parameter: str) -> Id:
        """Raises NotFound for a text that is not an id: nothing can have it."""
        found = DASHED_UUID.parse_id(self.path[parameter])
        if found is None:
            raise NotFound(f"{parameter} must be {DASHED_UUID.name}.")
        return found


class RequestHeader(msgspec.Struct, frozen=True):
    """A header that an operation reads; a request may have it once."""

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
    """The type of the body: None for an empty one, Response for one that is not JSON."""
    status: int
    body: Any = None
    query: Any = None
    header: RequestHeader | None = None
    media_types: tuple[str, ...] = (JSON,)
    success: str = ""
    """What a success means, if its status does not say it all."""
    errors: Mapping[int, str] = {}
    """Statuses of refusals beside those that every operation has, with words where the usual ones do not fit."""
    anonymous: bool = False
    """Whether it needs no credentials."""
    tag: str = ""
    label: str
    """Its name in metrics and in the audit log."""

    def __post_init__(self) -> None:
        if (self.answer is None) != (self.status == 204):
            raise ValueError(f"{self.id}: 204 and an empty body go together")
        if (self.answer is Response) != (self.media_types != (JSON,)):
            raise ValueError(f"{self.id}: a Response and its media types go together")
        if self.body is not None and self.method not in ("POST", "PATCH"):
            raise ValueError(f"{self.id}: only POST and PATCH have a body")
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
        """Its refusals, without those of its surface's credentials."""
        found = {500, *self.errors}
        if self.parameters:
            found.add(404)
        if self.query is not None or self.header is not None:
            found.add(400)
        return frozenset(found | ({400, 413, 415} if self.body is not None else set()))


class OperationTable(list[Operation]):
    """The operations of one subject, in the order in which they are declared."""

    def __init__(self, tag: str = "") -> None:
        super().__init__()
        self._tag = tag

    def add(
        self,
        method: str,
        path: str,
        summary: str,
        *,
        status: int | None = None,
        errors: Collection[int] | Mapping[int, str] = (),
        label: str = "",
        **options: Any,
    ) -> Callable[[H], H]:
        """Declares the decorated handler as an operation; `options` are other fields of Operation.

        The id is the handler's name in camel case. The types of the answer, the body and the query are those of the handler's
        signature: `async def create_user(services, call, body: NewUser) -> CreatedUserOut`.
        """

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
                label=label or operation_id,
                **options,
            )
            self.append(operation)
            return handler

        return register


class Surface(msgspec.Struct, frozen=True, kw_only=True):
    """Operations under one prefix, with one way to check credentials."""

    name: str
    prefix: str
    description: str
    operations: Sequence[Operation]
    credentials: type[Credentials[Any]]
    text_parameters: frozenset[str] = frozenset()
    """Path parameters that are not ids."""
    errors: Mapping[int, str] = {}
    """Words for statuses, where those of the kit do not fit."""
    serves_head: bool = False
    """Whether HEAD is answered as GET."""
    amend: Callable[[dict[str, Any]], None] | None = None
    """Adds to the OpenAPI document what operations alone do not say."""

    @property
    def document(self) -> str:
        """Path of the OpenAPI document."""
        return f"{self.prefix}/openapi.json"
