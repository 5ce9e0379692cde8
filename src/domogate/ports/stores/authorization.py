"""Ports for stored grants and credentials.

A method that consumes a credential succeeds for exactly one caller in all processes.
"""

from collections.abc import Sequence
from typing import Protocol

from domogate.domain.attempts import Attempt, Wait
from domogate.domain.authorization import AuthorizationCode, OneTimeLink, RedeemedCode, RefreshToken, Rotation, Session
from domogate.domain.ids import Id
from domogate.domain.passkeys import PasskeyUse
from domogate.domain.people import Grant


class GrantStore(Protocol):
    """Stores the grants: the consents of people to applications."""

    async def add_grant(self, grant: Grant) -> None: ...
    async def find_grant(self, grant_id: Id) -> Grant | None: ...
    async def list_grants(self, user_id: Id) -> Sequence[Grant]:
        """Return the user's valid grants for applications, newest first.

        A grant whose authorization code was not exchanged for tokens is not listed. Grants to the gateway's own pages are not
        listed either. For people, these pages are a part of the gateway.
        """
        ...

    async def list_grants_of_client(self, client_id: str, after: Id | None, limit: int) -> Sequence[tuple[Grant, str]]:
        """Return the first `limit` valid grants to the application, sorted by id, each with the e-mail address of its user.

        If `after` is given, return only grants whose ids are greater than `after`.
        """
        ...

    async def revoke_grant(self, grant_id: Id, at: float) -> bool:
        """Revoke the grant. Return False if it does not exist or is revoked already."""
        ...

    async def revoke_grants(self, user_id: Id, client_id: str | None, at: float) -> int:
        """Revoke the user's grants to the client (None means every client). Return how many grants were revoked."""
        ...


class TokenStore(GrantStore, Protocol):
    """Stores grants with their authorization codes and refresh tokens."""

    async def add_code(self, grant: Grant, code: AuthorizationCode) -> None:
        """Add the grant and its code in one write."""
        ...

    async def redeem_code(self, code_hash: str, at: float) -> RedeemedCode | None:
        """Consume the code. Exactly one caller gets a result whose `first` is True. Return None if the code does not exist.

        For every later caller, `first` is False, and the grant is revoked. The first caller must check whether the code has
        expired, and whether the grant is already revoked.
        """
        ...

    async def add_refresh_token(self, token: RefreshToken) -> None: ...
    async def find_refresh_token(self, token_hash: str) -> RefreshToken | None: ...
    async def rotate_refresh_token(
        self, token_hash: str, client_id: str, successor: RefreshToken, at: float, grace: float
    ) -> Rotation:
        """Replace the token by `successor`. Exactly one caller replaces the token and gets the outcome ROTATED.

        For `grace` seconds, a second call with the same token gets the outcome REPEATED, and the successor of the first call
        stays valid. After this time, or after this successor was replaced, a call with the same token revokes the grant and
        gets REUSED. If the token is unknown or has expired, the result has no grant.
        """
        ...

    async def prune_authorization(self, at: float, token_lifetime: float = 0.0) -> None:
        """Remove expired sessions, codes, refresh tokens, one-time links, invitation links and counted login attempts.

        Also revoke each grant of the gateway's own pages that came from a login session that has ended. Also remove old daily
        counts of requests.

        Also remove grants without a valid token: a grant whose code was never redeemed, a revoked grant, and a grant after
        which the person granted the same rights again.

        `token_lifetime` is the longest lifetime of an access token or an id token. Codes, refresh tokens and grants stay in the
        store at least for this time after their end, because tokens that were issued from them may still be valid.
        """
        ...


class SessionStore(Protocol):
    """Stores login sessions, login attempts and one-time links."""

    async def admit_attempt(self, attempt: Attempt, at: float) -> Wait:
        """Return how long the login attempt must wait. If it need not wait, it counts as failed until it succeeds."""
        ...

    async def take_back_attempt(self, attempt: Attempt, at: float) -> None:
        """Do not count an admitted attempt as failed any more, because its first factor was right.

        The attempt does not count as a success, so earlier failures still count.
        """
        ...

    async def succeed_attempt(self, attempt: Attempt, at: float) -> None: ...
    async def use_totp_step(self, user_id: Id, step: int) -> bool:
        """Mark the time step of a TOTP code as used.

        Return False if this step or a later one was used before, or if there is no such user.
        """
        ...

    async def add_session(
        self,
        session: Session,
        *,
        totp_step: int | None = None,
        recovery_code: str | None = None,
        passkey: PasskeyUse | None = None,
        succeeded: Sequence[Attempt] = (),
        taken_back: Attempt | None = None,
    ) -> bool:
        """In one write, store the session, consume the recovery code (given as its hash), and update the login throttle.

        `succeeded` are attempts that the throttle counts as successful. `taken_back` is an attempt that does not count as
        failed any more.

        Return False and write no session in these cases: the user was deleted; `totp_step` was used before; the user does not
        have the recovery code; the passkey was removed; its count of signatures is not higher than the stored count (except if
        both are 0); the challenge of the passkey was used before.
        """
        ...

    async def replace_recovery_codes(self, user_id: Id, hashes: Sequence[str]) -> None: ...
    async def count_recovery_codes(self, user_id: Id) -> int:
        """Return the number of the user's unused recovery codes."""
        ...

    async def find_session(self, token_hash: str) -> Session | None: ...
    async def save_session(self, session: Session) -> None:
        """Replace the stored session that has the same id, for example because the time of its last use is new."""
        ...

    async def end_session(self, session_id: Id) -> bool: ...
    async def end_sessions(self, user_id: Id, keep: Id | None = None) -> int: ...
    async def list_sessions(self, user_id: Id) -> Sequence[Session]: ...
    async def add_link(self, link: OneTimeLink) -> None:
        """Add a link. Earlier links of the user with the same purpose become invalid.

        All purposes in SETS_PASSWORD count as the same purpose.
        """
        ...

    async def find_link(self, token_hash: str) -> OneTimeLink | None: ...
    async def take_link(self, token_hash: str) -> OneTimeLink | None:
        """Consume and return the link, even if it has expired. Exactly one caller gets it; all other callers get None."""
        ...


class AuthorizationStore(TokenStore, SessionStore, Protocol):
    """Stores grants, codes, refresh tokens, sessions and one-time links."""
