"""Ports for stored subscription keys and signing keys."""

from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from domogate.domain.ids import Id
from domogate.domain.people import Subscription


class SigningKey(msgspec.Struct, frozen=True):
    """A private signing key as a JWK (JSON text). It signs from `created_at` (which may be in the future) to `retired_at`."""

    kid: str
    algorithm: str
    jwk: str
    created_at: float
    retired_at: float | None = None


class Usage(msgspec.Struct, frozen=True):
    """The number of requests of a subscription on one UTC day ('2026-11-15')."""

    subscription_id: Id
    day: str
    count: int


class SubscriptionStore(Protocol):
    """Stores subscription keys and their usage."""

    async def find_subscription(self, key_hash: str) -> Subscription | None: ...
    async def list_subscriptions(self) -> Sequence[Subscription]: ...
    async def add_subscription(self, subscription: Subscription) -> None: ...
    async def revoke_subscription(self, subscription_id: Id, at: float) -> bool | None:
        """Revoke the subscription. Return False if it was revoked before, None if there is no such subscription."""
        ...

    async def add_usage(self, usages: Sequence[Usage]) -> Sequence[Usage]:
        """Add these numbers of requests to the stored numbers of the same subscription and day.

        Return the stored sums, which include the requests to other gateways.
        """
        ...

    async def find_usage(self, subscription_id: Id, day: str) -> int: ...
    async def list_usages(self, day: str) -> dict[Id, int]:
        """Return the number of requests of each subscription on this day."""
        ...


class SigningKeyStore(Protocol):
    """Stores the keys that sign tokens."""

    async def list_signing_keys(self) -> Sequence[SigningKey]: ...
    async def change_signing_keys(self, change: Callable[[Sequence[SigningKey]], Sequence[SigningKey]]) -> Sequence[SigningKey]:
        """Add or replace the keys that `change` returns, and return them. `change` gets all stored keys.

        This is one transaction, so concurrent changes do not undo each other.
        """
        ...
