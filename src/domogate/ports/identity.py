"""Who is calling, and what the gateway signs and remembers of it."""

from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

from domogate.domain.ids import Id
from domogate.domain.people import Client, Grant, Principal, TokenKind, User


class Verifier(Protocol):
    """unverified_token -> Claims -> Principal. A token seen before is answered without waiting."""

    def find_verified(self, unverified_token: bytes) -> Principal | None:
        """The Principal of a token verified before and still good now; None: ask `verify`."""
        ...

    async def verify(self, unverified_token: bytes) -> Principal:
        """Raises TokenRefused."""
        ...


class Admitted(msgspec.Struct, frozen=True):
    """A subscription that may call now, and what to tell it of what remains (ready-made response headers)."""

    subscription_id: Id
    headers: tuple[tuple[bytes, bytes], ...] = ()


class Admission(Protocol):
    """Lets subscription keys in, within their rate and quota."""

    def admit_known(self, key: bytes) -> Admitted | None:
        """As `admit` for a key seen before, without waiting; None: ask `admit`."""
        ...

    async def admit(self, key: bytes) -> Admitted:
        """Raises KeyRefused, TooManyRequests."""
        ...

    async def recognise(self, key: bytes) -> float:
        """Until when the key is good, without counting a request: for what stays open. Raises KeyRefused."""
        ...


class Signer(Protocol):
    """Signs with the gateway's current key."""

    async def sign(self, claims: dict[str, Any], *, typ: str) -> str: ...
    async def read(self, signed: str, *, typ: str) -> dict[str, Any] | None:
        """The claims of what a trusted key of this gateway signed as that `typ`; None: it did not. Times are the caller's."""
        ...

    async def jwks(self) -> dict[str, Any]: ...
    async def mint_token(
        self,
        kind: TokenKind,
        user: User,
        client: Client,
        grant: Grant,
        lifetime: float | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> str:
        """`extra`: claims of one login (nonce, auth_time, at_hash); they cannot replace those that every token has."""
        ...


class Hasher(Protocol):
    """Passwords; never on the event loop's thread."""

    async def hash_password(self, password: str) -> str: ...
    async def verify_password(self, password: str, password_hash: str | None) -> bool:
        """Takes as long for None (an unknown user) as for a wrong password."""
        ...


class Audit(Protocol):
    """Who did what, when, from where, with what result."""

    def note(
        self,
        action: str,
        *,
        who: str,
        what: str,
        result: str,
        address: str = "",
        detail: Mapping[str, str] | None = None,
    ) -> None:
        """Take it up without waiting. A user is named by their id alone in `who`, and as `user:ID` anywhere else."""
        ...
