"""Grants and credentials. An operation that consumes a credential succeeds once, over all processes."""

from collections.abc import Sequence
from typing import Protocol

from domogate.domain.attempts import Attempt
from domogate.domain.authorization import (
    AuthorizationCode,
    OneTimeLink,
    RedeemedCode,
    RefreshToken,
    Rotation,
    Session,
)
from domogate.domain.ids import Id
from domogate.domain.people import Grant


class GrantStore(Protocol):
    """The rights that people granted to applications."""

    async def add_grant(self, grant: Grant) -> None: ...
    async def find_grant(self, grant_id: Id) -> Grant | None: ...
    async def list_grants(self, user_id: Id) -> Sequence[Grant]:
        """Return the user's valid grants, newest first. A grant whose code was never redeemed is not listed."""
        ...

    async def revoke_grant(self, grant_id: Id, at: float) -> bool: ...
    async def revoke_grants(self, user_id: Id, client_id: str | None, at: float) -> int:
        """Revoke the user's grants to the client (None: to every client). Return their number."""
        ...


class TokenStore(GrantStore, Protocol):
    """Grants with their authorization codes and refresh tokens."""

    async def add_code(self, grant: Grant, code: AuthorizationCode) -> None:
        """Add the grant and its code in one write."""
        ...

    async def redeem_code(self, code_hash: str, at: float) -> RedeemedCode | None:
        """Consume the code; exactly one caller is the first. Return None if the code does not exist."""
        ...

    async def add_refresh_token(self, token: RefreshToken) -> None: ...
    async def find_refresh_token(self, token_hash: str) -> RefreshToken | None: ...
    async def rotate_refresh_token(
        self, token_hash: str, client_id: str, successor: RefreshToken, at: float, grace: float
    ) -> Rotation:
        """Replace the token by `successor`. Exactly one caller rotates; others repeat the result within `grace` seconds."""
        ...

    async def prune_authorization(self, at: float, token_lifetime: float = 0.0) -> None:
        """Remove expired sessions, codes, refresh tokens, links, counted attempts and usages.

        Also grants that were never redeemed, were revoked, or were replaced by a later one, once no token of theirs is valid.
        `token_lifetime`: the longest lifetime of an access token or an id token.
        """
        ...


class SessionStore(Protocol):
    """Login sessions, login attempts and one-time links."""

    async def admit_attempt(self, attempt: Attempt, at: float) -> float:
        """Return 0 and count the attempt as failed, or return the seconds to wait and count nothing."""
        ...

    async def take_back_attempt(self, attempt: Attempt, at: float) -> None:
        """Do not count an admitted attempt as failed any more: its first factor was right. It is not a success either."""
        ...

    async def succeed_attempt(self, attempt: Attempt, at: float) -> None: ...
    async def use_totp_step(self, user_id: Id, step: int) -> bool:
        """Return False if this step or a later one was used before."""
        ...

    async def add_session(
        self,
        session: Session,
        *,
        totp_step: int | None = None,
        recovery_code: str | None = None,
        succeeded: Sequence[Attempt] = (),
        taken_back: Attempt | None = None,
    ) -> bool:
        """Write the session and the other arguments in one write, and consume the recovery code (its hash).

        Return False, and write nothing, if `totp_step` was used, or if the user does not have the recovery code.
        """
        ...

    async def replace_recovery_codes(self, user_id: Id, hashes: Sequence[str]) -> None: ...
    async def count_recovery_codes(self, user_id: Id) -> int:
        """Return the number of codes that were not used."""
        ...

    async def find_session(self, token_hash: str) -> Session | None: ...
    async def save_session(self, session: Session) -> None:
        """Replace the session, for example after it was used or proved again."""
        ...

    async def end_session(self, session_id: Id) -> bool: ...
    async def end_sessions(self, user_id: Id, keep: Id | None = None) -> int: ...
    async def list_sessions(self, user_id: Id) -> Sequence[Session]: ...
    async def add_link(self, link: OneTimeLink) -> None:
        """Older links of the same purpose and user become invalid."""
        ...

    async def find_link(self, token_hash: str) -> OneTimeLink | None: ...
    async def take_link(self, token_hash: str) -> OneTimeLink | None:
        """Consume the link. Exactly one caller gets it."""
        ...


class AuthorizationStore(TokenStore, SessionStore, Protocol):
    """All grants and credentials."""
