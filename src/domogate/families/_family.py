"""Family and Operation: the declaration of a contract, checked when it is imported."""

import re
from collections.abc import Awaitable, Callable
from datetime import date
from typing import TYPE_CHECKING, Any

import msgspec

from domogate.domain import faults
from domogate.domain.devices import DeviceKind
from domogate.domain.ids import IdSpelling
from domogate.domain.people import GrantType, Scope, TokenKind
from domogate.families._errors import ErrorShape
from domogate.families._ladder import LADDER, OUTSIDE, status_of
from domogate.families._wire import Answer

if TYPE_CHECKING:
    from domogate.families._call import Call, Services

GET, POST, DELETE = "GET", "POST", "DELETE"
NO_SCOPE: tuple[Scope, ...] = ()

Handler = Callable[["Services", "Call"], Awaitable[Answer]]

PLACEHOLDER = re.compile(r"\{(\w+):(\w+)\}")

# What a path parameter is, and the faults it can lead to: the operation must have a status for each.
ROLES: dict[str, tuple[type[faults.Fault], ...]] = {
    "plant": (faults.MalformedId, faults.NoSuchPlant, faults.NotYourPlant),
    "ambient": (faults.MalformedId, faults.NoSuchAmbient),
    "module": (faults.MalformedId, faults.NoSuchModule, faults.DeviceOffline, faults.DeviceTimeout),
    "reference": (faults.MalformedId, faults.UnknownReference),
    "subscription": (faults.MalformedId, faults.NoSuchSubscription),
}


class DeclarationError(Exception):
    """A family contradicts itself or leaves something unsaid."""


class Lifecycle(msgspec.Struct, frozen=True):
    """Where a family or operation stands in its life (Spec 1, Spec 9)."""

    word: str
    deprecated_since: date | None = None


CURRENT = Lifecycle("current")
LEGACY = Lifecycle("legacy")
DEPRECATED = Lifecycle("deprecated", date(2026, 11, 15))


def any_of(*scopes: Scope) -> tuple[Scope, ...]:
    """One of these is enough (Spec 5.3)."""
    if not scopes:
        raise DeclarationError("any_of() of nothing: say NO_SCOPE if an operation really needs none")
    return scopes


class Parameter(msgspec.Struct, frozen=True):
    """A path parameter: its name in the contract and its role here."""

    name: str
    role: str


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One operation of the contract. `path` is relative to the family's prefix; `{plantId:plant}` names a parameter's role."""

    id: str
    summary: str
    method: str
    path: str
    handler: Handler
    scopes: tuple[Scope, ...]
    errors: frozenset[int]
    answer: Any
    """The type of the body of a success; None for an empty one, bytes for a document that is not JSON."""
    status: int = 200
    """Of a success."""
    body: Any = None
    """The type of the request body; None for an operation without one."""
    kinds: frozenset[DeviceKind] = frozenset()
    """What a module parameter may name, or what of an ambient an ambient parameter is about."""
    may_be_empty: bool = False
    """204 when there is nothing to list."""
    keeps_etag: bool = False
    """Topologies and lists: 200 with an ETag, 304 when the client has it."""
    lifecycle: Lifecycle | None = None
    """None: as its family."""
    extension: str = ""
    """Why it is there though the specification does not list it (Decision 0041); its id is then X1, X2…"""

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return tuple(Parameter(name, role) for name, role in PLACEHOLDER.findall(self.path))

    @property
    def contract_path(self) -> str:
        """As the specification writes it, without the roles."""
        return PLACEHOLDER.sub(r"{\1}", self.path)

    def __post_init__(self) -> None:
        roles = [parameter.role for parameter in self.parameters]
        if unknown := set(roles) - set(ROLES):
            raise DeclarationError(f"{self.id}: unknown roles {sorted(unknown)} in {self.path}")
        if self.path.count("{") != len(roles) or len(set(roles)) != len(roles):
            raise DeclarationError(f"{self.id}: every parameter needs one role of its own: {self.path}")
        if ({"module", "ambient"} & set(roles)) and "plant" not in roles:
            raise DeclarationError(f"{self.id}: a module or ambient is looked up in a plant")
        if bool({"module", "ambient"} & set(roles)) != bool(self.kinds):
            raise DeclarationError(f"{self.id}: a module or ambient parameter and the kinds it is about go together")
        if self.id.startswith("X") != bool(self.extension):
            raise DeclarationError(f"{self.id}: extensions, and only they, are numbered with an X and say why they are there")
        if (self.method == POST) != (self.body is not None):
            raise DeclarationError(f"{self.id}: POST and a body go together")
        if {469, 470} & self.errors and not {469, 470} <= self.errors:
            raise DeclarationError(f"{self.id}: 469 and 470 are listed together or not at all")
        known = {status for ladder in LADDER.values() for status in ladder}
        if unknown_statuses := self.errors - known:
            raise DeclarationError(f"{self.id}: no fault leads to {sorted(unknown_statuses)}")
        for role in roles:
            for kind in ROLES[role]:
                if status_of(kind, self.errors) not in self.errors | (OUTSIDE - {401, 404, 500}):
                    raise DeclarationError(f"{self.id}: lists no status for {kind.__name__}, which {{{role}}} leads to")


class Family(msgspec.Struct, frozen=True, kw_only=True):
    """One dialect: what is the same for all its operations."""

    name: str
    slug: str
    """Names its OpenAPI document and its settings."""
    prefix: str
    lifecycle: Lifecycle
    tokens: frozenset[TokenKind]
    grants: frozenset[GrantType]
    """How a token must have been granted (Spec 5)."""
    ids: IdSpelling
    error_shape: ErrorShape
    operations: tuple[Operation, ...]

    def __post_init__(self) -> None:
        if not re.fullmatch(r"(/[a-z0-9.-]+)+", self.prefix):
            raise DeclarationError(f"{self.name}: the prefix {self.prefix!r} is not /a or /a/b")
        if not self.operations or not self.tokens or not self.grants:
            raise DeclarationError(f"{self.name}: a family needs operations, token kinds and grants")
        ids = [operation.id for operation in self.operations]
        places = [(operation.method, PLACEHOLDER.sub("{}", operation.path)) for operation in self.operations]
        if len(set(ids)) != len(ids) or len(set(places)) != len(places):
            raise DeclarationError(f"{self.name}: an operation is declared twice")

    @property
    def root(self) -> str:
        """The first segment of the prefix: everything under it is answered in this family's shape."""
        return self.prefix.split("/")[1]

    def lifecycle_of(self, operation: Operation) -> Lifecycle:
        return operation.lifecycle or self.lifecycle
