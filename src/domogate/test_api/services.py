"""The parts of the gateway that the operations of the test API use."""

from collections.abc import Mapping
from typing import Protocol

import msgspec

from domogate.domain.ids import Id
from domogate.http_api.credentials import Operator
from domogate.http_api.operations import Call
from domogate.ports import Clock, OrderStore, PeopleStore, SubscriptionStore
from domogate.services.plants.fault_injection import FaultInjector
from domogate.test_api.fault_rules import FaultRules
from domogate.test_api.gate import Gate
from domogate.test_api.traffic import Traffic

TestCall = Call[Operator]


class KitStore(OrderStore, PeopleStore, SubscriptionStore, Protocol):
    """The parts of the store with orders, people and subscription keys."""


class Content(msgspec.Struct, frozen=True):
    """The numbers of records in an estate."""

    users: int
    plants: int
    modules: int


class IssuedTokens(msgspec.Struct, frozen=True):
    """An access token and an id token of one grant."""

    access_token: str
    id_token: str
    client_id: str
    scopes: tuple[str, ...]
    expires_at: float


class TokenRequest(msgspec.Struct, frozen=True):
    """The user for whom tokens are issued, and the content of the tokens.

    If `scopes` is None, the tokens have all scopes of the client. If `plants` is None, they are for all plants of the user.
    If `client_id` is None, they are for the client of the test kit. If `lifetime` is None, they have the usual lifetime.
    """

    email: str
    scopes: tuple[str, ...] | None = None
    plants: frozenset[Id] | None = None
    client_id: str | None = None
    lifetime: float | None = None


class Resettable(Protocol):
    """A gateway that can return to its initial data."""

    async def reset(self) -> None:
        """Return to the data after the start, or to the data after the last `replace_estate`."""
        ...

    async def replace_estate(self, document: str) -> Content:
        """Start the gateway again with the data of this estate file. Raises Invalid if the file has mistakes."""
        ...

    async def issue_tokens(self, request: TokenRequest) -> IssuedTokens:
        """Issue tokens for a user, without a login.

        Raises NotFound if the user, client or plant does not exist. Raises Invalid if the user is not active, or if the client
        may not have the scopes.
        """
        ...

    async def advance(self, seconds: float) -> None:
        """Move the time of the gateway forward by `seconds`."""
        ...


class KnownOperation(msgspec.Struct, frozen=True):
    """An operation that a fault, or a filter of the traffic, can name."""

    name: str
    """The name of the OpenAPI document, a dot, and the `operationId`, for example `homeauto.readLight`."""
    statuses: frozenset[int]
    """The statuses of the refusals that the OpenAPI document lists for this operation."""
    id: str = ""
    """The id in the contract, for example `E8`. Operations of our own APIs have none."""

    def __str__(self) -> str:
        return f"{self.name} ({self.id})" if self.id else self.name


class KitServices(msgspec.Struct, frozen=True):
    gateway: Resettable
    rules: FaultRules
    gate: Gate
    traffic: Traffic
    store: KitStore
    fault_injector: FaultInjector
    clock: Clock
    operations: Mapping[str, KnownOperation]
    """All operations of the gateway by name. Operations of the contract are also listed by id."""
