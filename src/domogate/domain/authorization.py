"""Authorization: browser sessions, authorization codes, refresh tokens and one-time links.

Their secrets (cookie, code, refresh token, link) have at least 128 random bits. The store keeps only the SHA-256 of each
secret.
"""

from enum import StrEnum

import msgspec

from domogate.domain.ids import Id
from domogate.domain.people import Grant


class Session(msgspec.Struct, frozen=True):
    """A browser in which a person is logged in. `auth_time` is the time of the last authentication."""

    id: Id
    token_hash: str
    user_id: Id
    auth_time: float
    created_at: float
    seen_at: float
    expires_at: float
    address: str = ""
    agent: str = ""
    factors: tuple[str, ...] = ("pwd",)
    """The authentication methods, as in RFC 8176: pwd, otp, pop (a passkey), mfa."""


class AuthorizationCode(msgspec.Struct, frozen=True):
    """An authorization code. Its client can redeem it once, until `expires_at` (RFC 6749 §4.1.2)."""

    code_hash: str
    grant_id: Id
    client_id: str
    expires_at: float
    redirect_uri: str | None = None
    """The redirect URI of the authorization request. None if the request did not contain a redirect URI."""
    code_challenge: str | None = None
    """The S256 challenge (RFC 7636). None only for a client that is exempt from PKCE."""
    nonce: str | None = None


class RedeemedCode(msgspec.Struct, frozen=True):
    """The result of redeeming a code. If `first` is False, the code was used before, and its grant is now revoked."""

    code: AuthorizationCode
    grant: Grant
    first: bool


class RefreshToken(msgspec.Struct, frozen=True):
    """A refresh token of a grant. A refresh replaces it by one new refresh token, never by two different ones."""

    token_hash: str
    grant_id: Id
    client_id: str
    created_at: float
    expires_at: float
    replaced_at: float | None = None


class RotationOutcome(StrEnum):
    ROTATED = "rotated"
    REPEATED = "repeated"
    """The token was replaced a short time ago (within the grace period) and is sent again. The new token is not replaced yet.

    The client gets the same new token as the first time.
    """
    REUSED = "reused"
    """The token was replaced longer ago than the grace period, or the token that replaced it is also replaced.

    The token may be stolen, so the grant is revoked.
    """
    EXPIRED = "expired"
    UNKNOWN = "unknown"
    """The token does not exist, belongs to another client, or its grant is revoked."""


class Rotation(msgspec.Struct, frozen=True):
    """The result of presenting a refresh token. It has a grant if the outcome is ROTATED, REPEATED or REUSED."""

    outcome: RotationOutcome
    grant: Grant | None = None


class LinkPurpose(StrEnum):
    PASSWORD = "set password"
    OPERATOR = "first operator"
    EMAIL = "change email"
    """The link is mailed to the new e-mail address, which is in `sent_to`."""


SETS_PASSWORD = (LinkPurpose.PASSWORD, LinkPurpose.OPERATOR)
"""The purposes of the links that set a password. Of these links, only the newest link of a user works."""


class OneTimeLink(msgspec.Struct, frozen=True):
    """A link that works once. A person who has the link can set a user's password or confirm an e-mail address."""

    token_hash: str
    user_id: Id
    purpose: LinkPurpose
    expires_at: float
    sent_to: str | None = None
    """The only e-mail address that got the link. So a person who has the link can read the mail of this address (Decision
    0029).

    None if the link was shown and not mailed.
    """
