"""How a person lets an application in: sessions in a browser, codes, refresh tokens, one-time links.

What a holder shows (cookie, code, refresh token, link) has at least 128 random bits and is kept as its SHA-256 only.
"""

from enum import StrEnum

import msgspec

from domogate.domain.ids import Id
from domogate.domain.people import Grant


class Session(msgspec.Struct, frozen=True):
    """A browser in which a person is logged in. `auth_time` is when they last proved who they are."""

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
    """How they proved it, in the words of RFC 8176: pwd, otp."""


class AuthorizationCode(msgspec.Struct, frozen=True):
    """Redeemed once, within a minute, by the client it was made for (RFC 6749 §4.1.2)."""

    code_hash: str
    grant_id: Id
    client_id: str
    expires_at: float
    redirect_uri: str | None = None
    """As the authorization request named it; None when it left it out."""
    code_challenge: str | None = None
    """S256 (RFC 7636); None only for a client that is exempt."""
    nonce: str | None = None


class RedeemedCode(msgspec.Struct, frozen=True):
    """What came of redeeming a code. Not `first`: it was redeemed before, and its grant is revoked now (RFC 6749 §4.1.2)."""

    code: AuthorizationCode
    grant: Grant
    first: bool


class RefreshToken(msgspec.Struct, frozen=True):
    """One of the family that a grant's refresh tokens are. Exactly one successor is ever made of it."""

    token_hash: str
    grant_id: Id
    client_id: str
    created_at: float
    expires_at: float
    replaced_at: float | None = None


class RotationOutcome(StrEnum):
    ROTATED = "rotated"
    REPEATED = "repeated"
    """The immediate predecessor again, within the grace period: the same successor is handed out again."""
    REUSED = "reused"
    """Any other refresh token that was replaced: the grant is revoked."""
    EXPIRED = "expired"
    UNKNOWN = "unknown"
    """No such token, one of another client, or one whose grant is revoked."""


class Rotation(msgspec.Struct, frozen=True):
    """What came of presenting a refresh token. The grant is there for ROTATED and REPEATED."""

    outcome: RotationOutcome
    grant: Grant | None = None


class LinkPurpose(StrEnum):
    PASSWORD = "set password"
    OPERATOR = "first operator"


class OneTimeLink(msgspec.Struct, frozen=True):
    """Lets its holder set a user's password, once."""

    token_hash: str
    user_id: Id
    purpose: LinkPurpose
    expires_at: float
    sent_to: str | None = None
    """The e-mail it was sent to, and shown to nobody else: whoever has it reads that mailbox (Decision 0029)."""
