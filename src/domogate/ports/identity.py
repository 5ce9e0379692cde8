"""Ports for signatures, passwords, the audit log, and the credentials of callers."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, Protocol

import msgspec

from domogate.domain.ids import Id
from domogate.domain.people import Client, Grant, Principal, Subscription, TokenKind, User


class KeyState(StrEnum):
    """The state of a signing key in the rotation."""

    NEXT = "next"
    CURRENT = "current"
    RETIRED = "retired"
    """The key does not sign any more. Tokens that it signed are accepted until they have expired."""
    DISTRUSTED = "distrusted"


class Verifier(Protocol):
    """Verifies tokens. Tokens that were verified before are cached."""

    def find_verified(self, unverified_token: bytes) -> Principal | None:
        """Return the Principal of a token that was verified before and is still valid. If the result is None, call `verify`."""
        ...

    async def verify(self, unverified_token: bytes) -> Principal:
        """Verify the token and return its Principal. Raise TokenRefused if the token is not valid.

        In a cluster, raise Internal if this gateway has not got the latest changes and therefore cannot decide.
        """
        ...


class Admitted(msgspec.Struct, frozen=True):
    """A subscription that may call now, and the response headers with its remaining rate and quota."""

    subscription_id: Id
    headers: tuple[tuple[bytes, bytes], ...] = ()


class Admission(Protocol):
    """Checks subscription keys, their rate and their quota."""

    def admit_known(self, key: bytes) -> Admitted | None:
        """Check a key that was admitted before, and count the request, without a wait.

        If the result is None, nothing was counted: call `admit`. Raise TooManyRequests if the rate or the daily quota of the
        key is used up.
        """
        ...

    async def admit(self, key: bytes) -> Admitted:
        """Check the key and count the request.

        Raise KeyRefused if the key is not valid, and TooManyRequests if its rate or its daily quota is used up.
        """
        ...

    async def recognise(self, key: bytes) -> float:
        """Return the time until which the key is valid (infinity if it never expires), without counting a request.

        Raise KeyRefused if the key is not valid now. The gateway checks the keys of open streams in this way.
        """
        ...


NewSubscriptionKey = Callable[[str, str | None, int | None, float | None, float], tuple[str, Subscription]]
"""A function that makes a subscription key.

It gets the name, the rate, the daily quota, the time of expiry and the present time.

It returns the key, which is shown once, and the record to store. Raises ValueError if the rate or the quota is not valid.
"""


class KeyPlace(msgspec.Struct, frozen=True):
    """The public data of a signing key, and its state in the rotation."""

    kid: str
    algorithm: str
    state: KeyState
    signs_from: float
    retired_at: float | None


class Signer(Protocol):
    """Signs claims with the current key of the gateway, and verifies claims that the gateway signed."""

    async def sign(self, claims: dict[str, Any], *, typ: str) -> str: ...
    async def read(self, signed: str, *, typ: str) -> dict[str, Any] | None:
        """Return the claims if a trusted key of this gateway signed them with the header `typ`. Otherwise return None.

        The caller checks the expiry.
        """
        ...

    async def jwks(self) -> dict[str, Any]: ...
    async def find_server_secret(self) -> bytes:
        """Return 256 secret bits, from which other secrets are derived. They are the same in all gateways of one store.

        An emergency rotation of the signing keys replaces these bits.
        """
        ...

    async def mint_token(
        self,
        kind: TokenKind,
        user: User,
        client: Client,
        grant: Grant,
        lifetime: float | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> str:
        """Return a new signed token.

        `extra` has claims about this login (nonce, auth_time, at_hash). They cannot replace the claims that every token has.
        """
        ...


class Hasher(Protocol):
    """Hashes passwords on separate threads, so that the event loop is not blocked."""

    async def hash_password(self, password: str) -> str: ...
    async def verify_password(self, password: str, password_hash: str | None) -> bool:
        """Return whether the password is right.

        If `password_hash` is None, because the user is unknown, the result is False. This takes as long as the check of a wrong
        password. So a caller cannot find out which users exist.
        """
        ...


class Audit(Protocol):
    """Writes the audit log."""

    def note(
        self, action: str, *, who: str, what: str, result: str, address: str = "", detail: Mapping[str, str] | None = None
    ) -> None:
        """Queue a record without a wait. Each argument can name a user as `user:ID`; in `who`, the id alone is enough."""
        ...
