"""Family and Operation: classes to declare a family. A declaration is checked when it is imported."""

import re
from collections.abc import Awaitable, Callable
from datetime import date
from typing import TYPE_CHECKING, Any

import msgspec

from domogate.common.http_messages import Answer
from domogate.domain import faults
from domogate.domain.devices import DeviceKind
from domogate.domain.ids import DASHED_UUID, IdSpelling
from domogate.domain.people import GrantType, Scope, TokenKind
from domogate.families._errors import ErrorShape, shape_b
from domogate.families._ladder import LADDER, OUTSIDE, status_of
from domogate.wire.openapi import operation_id_of

if TYPE_CHECKING:
    from domogate.families._call import Call, Services

GET, POST, DELETE = "GET", "POST", "DELETE"
NO_SCOPE: tuple[Scope, ...] = ()

Handler = Callable[["Services", "Call"], Awaitable[Answer]]

PLACEHOLDER = re.compile(r"\{(\w+):(\w+)\}")

# The roles of path parameters, and the faults that each role can cause. An operation must list a status for each fault.
ROLES: dict[str, tuple[type[faults.Fault], ...]] = {
    "plant": (faults.MalformedId, faults.NoSuchPlant, faults.NotYourPlant),
    "ambient": (faults.MalformedId, faults.NoSuchAmbient),
    "module": (faults.MalformedId, faults.NoSuchModule, faults.DeviceOffline, faults.DeviceTimeout),
    "reference": (faults.MalformedId, faults.UnknownReference),
    "subscription": (faults.MalformedId, faults.NoSuchSubscription),
}


class DeclarationError(Exception):
    """A declaration contradicts itself or is incomplete. The import of its file fails, so the gateway does not start."""


class Lifecycle(msgspec.Struct, frozen=True):
    """The lifecycle stage of a family or an operation (Spec 1, Spec 9)."""

    word: str
    deprecated_since: date | None = None


CURRENT = Lifecycle("current")
LEGACY = Lifecycle("legacy")
DEPRECATED = Lifecycle("deprecated", date(2026, 11, 15))


def any_of(*scopes: Scope) -> tuple[Scope, ...]:
    """Declare that a token needs at least one of these scopes (Spec 5.3)."""
    if not scopes:
        raise DeclarationError("any_of() needs at least one scope; use NO_SCOPE for an operation without scopes")
    return scopes


class Parameter(msgspec.Struct, frozen=True):
    """A path parameter: its name in the contract and its role in the gateway."""

    name: str
    role: str


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One operation of a family: an operation of the contract, or an extension.

    `path` is relative to the family's prefix. `{plantId:plant}` is the parameter `plantId` with the role `plant`.
    """

    id: str
    summary: str
    path: str
    handler: Handler
    scopes: tuple[Scope, ...]
    errors: frozenset[int]
    """The statuses that the specification lists for errors of this operation. An extension declares its own statuses."""
    method: str = GET
    answer: Any = None
    """The type of the body of a successful answer. None means an empty body; bytes means a document that is not JSON."""
    status: int = 200
    """The status of a successful answer."""
    body: Any = None
    """The type of the request body; None for an operation without a body."""
    kinds: frozenset[DeviceKind] = frozenset()
    """The kinds of modules that a module parameter may name.

    For an operation on an ambient: the kinds of modules that the operation uses.
    """
    may_be_empty: bool = False
    """True if the operation answers 204 when there is nothing to list."""
    has_etag: bool = False
    """True for topologies and lists: the answer 200 has an ETag, and 304 is possible."""
    lifecycle: Lifecycle | None = None
    """The lifecycle of the operation; None means the lifecycle of the family."""
    extension: str = ""
    """The reason for an operation that is not in the specification (Decision 0041). The id of such an operation begins with X.

    Empty for an operation of the specification.
    """

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return tuple(Parameter(name, role) for name, role in PLACEHOLDER.findall(self.path))

    @property
    def name(self) -> str:
        """The name of the operation in the OpenAPI document."""
        return operation_id_of(self.handler)

    @property
    def contract_path(self) -> str:
        """The path as the specification writes it, for example with `{plantId}` where `path` has `{plantId:plant}`."""
        return PLACEHOLDER.sub(r"{\1}", self.path)

    @property
    def is_extra_list(self) -> bool:
        """Whether the operation is a list that is not in the specification."""
        return bool(self.extension) and self.may_be_empty

    def __post_init__(self) -> None:
        roles = [parameter.role for parameter in self.parameters]
        if unknown := set(roles) - set(ROLES):
            raise DeclarationError(f"{self.id}: unknown roles {sorted(unknown)} in {self.path}")
        if self.path.count("{") != len(roles) or len(set(roles)) != len(roles):
            raise DeclarationError(f"{self.id}: each parameter needs a role, and each role occurs once: {self.path}")
        if ({"module", "ambient"} & set(roles)) and "plant" not in roles:
            raise DeclarationError(f"{self.id}: a module or ambient parameter needs a plant parameter")
        if bool({"module", "ambient"} & set(roles)) != bool(self.kinds):
            raise DeclarationError(f"{self.id}: `kinds` is needed with a module or ambient parameter, and only then")
        if self.id.startswith("X") != bool(self.extension):
            raise DeclarationError(f"{self.id}: an id with X and the text `extension` go together")
        if (self.method == POST) != (self.body is not None):
            raise DeclarationError(f"{self.id}: POST needs a body, and other methods have none")
        if {469, 470} & self.errors and not {469, 470} <= self.errors:
            raise DeclarationError(f"{self.id}: 469 and 470 must be listed together")
        known = {status for ladder in LADDER.values() for status in ladder}
        if unknown_statuses := self.errors - known:
            raise DeclarationError(f"{self.id}: no fault has the status {sorted(unknown_statuses)}")
        for role in roles:
            for kind in ROLES[role]:
                if status_of(kind, self.errors) not in self.errors | (OUTSIDE - {401, 404, 500}):
                    raise DeclarationError(f"{self.id}: lists no status for {kind.__name__}, which {{{role}}} can cause")


class Family(msgspec.Struct, frozen=True, kw_only=True):
    """A family and its operations. The default values suit most families; a declaration gives only the values that differ."""

    name: str
    slug: str
    """The name of the family in the path of its OpenAPI document and in settings."""
    prefix: str
    operations: tuple[Operation, ...]
    lifecycle: Lifecycle = CURRENT
    tokens: frozenset[TokenKind] = frozenset({TokenKind.ID})
    """The kinds of tokens that the family accepts (Spec 5.2)."""
    grants: frozenset[GrantType] = frozenset({GrantType.AUTHORIZATION_CODE, GrantType.IMPLICIT})
    """The grant types whose tokens the family accepts (Spec 5)."""
    ids: IdSpelling = DASHED_UUID
    error_shape: ErrorShape = shape_b

    def __post_init__(self) -> None:
        if not re.fullmatch(r"(/[a-z0-9.-]+)+", self.prefix):
            raise DeclarationError(f"{self.name}: the prefix {self.prefix!r} is not /a or /a/b")
        if not self.operations or not self.tokens or not self.grants:
            raise DeclarationError(f"{self.name}: a family needs operations, token kinds and grants")
        ids = [operation.id for operation in self.operations]
        names = [operation.name for operation in self.operations]
        places = [(operation.method, PLACEHOLDER.sub("{}", operation.path)) for operation in self.operations]
        if any(len(set(some)) != len(some) for some in (ids, names, places)):
            raise DeclarationError(f"{self.name}: an operation is declared twice")

    @property
    def root(self) -> str:
        """The first segment of the prefix. The family answers every path below this segment, even unknown paths."""
        return self.prefix.split("/")[1]

    def lifecycle_of(self, operation: Operation) -> Lifecycle:
        return operation.lifecycle or self.lifecycle
