"""Operation: one declaration that serves it, documents it and is tested by."""

import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Annotated, Any, Generic, Protocol, TypeVar

import msgspec

from domogate.domain.ids import DASHED_UUID, Id
from domogate.domain.people import Subscription, User
from domogate.http_api.problems import Problem
from domogate.ports import (
    ClientStore,
    Clock,
    GrantStore,
    LogbookStore,
    OrderStore,
    PeopleStore,
    PlantStore,
    SessionStore,
    SparePartStore,
    SubscriptionStore,
    WebhookStore,
)
from domogate.services.audit.log import AuditLog
from domogate.services.driving.supervisor import DriverHealth
from domogate.services.people import Actor, People
from domogate.services.plants.control import Control
from domogate.services.plants.fault_injection import FaultInjector
from domogate.services.plants.history import History
from domogate.services.plants.read_model import ReadModel
from domogate.services.plants.scenes import Scenes
from domogate.services.refusals import NotFound

T = TypeVar("T")


class SigningKeyPlace(Protocol):
    """A signing key and where it is in the rotation, without anything private."""

    @property
    def kid(self) -> str: ...
    @property
    def algorithm(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def signs_from(self) -> float: ...
    @property
    def retired_at(self) -> float | None: ...


class SigningKeys(Protocol):
    """The gateway's signing keys, as an operator sees them."""

    async def list_places(self) -> Sequence[SigningKeyPlace]: ...
    async def rotate(self, *, now: bool) -> str:
        """The new key's id. `now`: it signs at once, and none of the others is trusted any more."""
        ...


NewSubscription = Callable[[str, str | None, int | None, float | None, float], tuple[str, Subscription]]
"""Name, rate, daily quota, when it expires, now: a key to be shown once, and what is kept of it. Raises ValueError."""


class Devices(msgspec.Struct, frozen=True):
    """What stands behind the plants, as far as operators deal with it."""

    read_model: ReadModel
    control: Control
    scenes: Scenes
    fault_injector: FaultInjector
    history: History
    list_drivers: Callable[[], Sequence[DriverHealth]]


class ManagementStore(
    PeopleStore,
    ClientStore,
    GrantStore,
    SessionStore,
    PlantStore,
    OrderStore,
    SubscriptionStore,
    WebhookStore,
    LogbookStore,
    SparePartStore,
    Protocol,
):
    """Everything that operators see and change."""


class Desk(msgspec.Struct, frozen=True):
    """What the operations work with."""

    people: People
    store: ManagementStore
    clock: Clock
    audit: AuditLog
    new_subscription: NewSubscription
    signing_keys: SigningKeys
    devices: Devices


class Page(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which part of a list."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=200, description="How many at most.")] = 50
    after: Annotated[str, msgspec.Meta(max_length=300, description="`next` of the page before.")] | None = None


class Listing(msgspec.Struct, Generic[T], frozen=True):
    """A part of a list. `next` is null at its end."""

    items: Sequence[T]
    next: str | None = None


class Call(msgspec.Struct, frozen=True):
    """One request of an operator, read and checked."""

    operator: User
    address: str
    path: dict[str, str]
    query: Any = None
    body: Any = None
    key: str | None = None
    """Idempotency-Key, for an operation that takes one."""

    @property
    def by(self) -> Actor:
        return Actor(self.operator.id, self.address)

    def id_of(self, parameter: str) -> Id:
        """Raises NotFound for what is no id: nothing can have it."""
        found = DASHED_UUID.parse_id(self.path[parameter])
        if found is None:
            raise NotFound(f"{parameter} must be {DASHED_UUID.name}.")
        return found


def queried_id(name: str, text: str | None) -> Id | None:
    """An id given in the query. Raises Problem for what is none."""
    found = None if text is None else DASHED_UUID.parse_id(text)
    if text is not None and found is None:
        raise Problem(400, f"The query is not as expected: {name} must be {DASHED_UUID.name}.")
    return found


Handler = Callable[[Desk, Call], Awaitable[Any]]

JSON = "application/json"
PARAMETERS = re.compile(r"\{(\w+)\}")


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One operation. `path` is relative to the prefix; `errors` are those beside 401, 403 and 500, which all have."""

    id: str
    summary: str
    tag: str
    method: str
    path: str
    handler: Handler
    answer: Any = None
    """The type of the body; None for 204."""
    media_type: str = JSON
    """What the answer is; if not JSON, the handler gives its bytes."""
    status: int = 200
    body: Any = None
    query: Any = None
    takes_key: bool = False
    """Whether the header Idempotency-Key makes it safe to send again."""
    errors: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        if (self.answer is None) != (self.status == 204):
            raise ValueError(f"{self.id}: 204 and an empty body go together")
        if (self.answer is bytes) != (self.media_type != JSON):
            raise ValueError(f"{self.id}: bytes and a media type of their own go together")
        if self.body is not None and self.method not in ("POST", "PATCH"):
            raise ValueError(f"{self.id}: only POST and PATCH have a body")
        if self.takes_key and (self.method != "POST" or not {400, 409} <= self.every_error):
            raise ValueError(f"{self.id}: a key is for a POST, and can be no key (400) or another's (409)")
        if ("{" in self.path) != (404 in self.errors):
            raise ValueError(f"{self.id}: what a path names may not be there: list 404")
        if len(set(self.parameters)) != len(self.parameters):
            raise ValueError(f"{self.id}: a parameter is there twice")

    @property
    def parameters(self) -> tuple[str, ...]:
        return tuple(PARAMETERS.findall(self.path))

    @property
    def every_error(self) -> frozenset[int]:
        read = {400} if self.query is not None or self.body is not None else set()
        body = {413, 415} if self.body is not None else set()
        return self.errors | {401, 403, 500} | read | body


def page_of(items: Iterable[T], page: Page, key: Callable[[T], str]) -> tuple[list[T], str | None]:
    """One page of items in the order of their keys, and the cursor of the next."""
    ordered = sorted((item for item in items if page.after is None or key(item) > page.after), key=key)
    return cut(ordered, page.limit, key)


def cut(items: Sequence[T], limit: int, key: Callable[[T], str]) -> tuple[list[T], str | None]:
    """The first of items of which one more than `limit` was asked for."""
    kept = list(items[:limit])
    return kept, key(kept[-1]) if len(items) > limit else None
