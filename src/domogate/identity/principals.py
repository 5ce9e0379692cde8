"""Builds a Principal from claims, for our own tokens and for tokens of external issuers."""

import json
import uuid
from collections.abc import Iterable

import msgspec

from domogate.domain.ids import Id
from domogate.domain.people import Claims, Client, GrantType, Principal, TokenKind, User


class ExternalClaims(msgspec.Struct, frozen=True):
    """The claims of an external token whose signature, times, issuer and audience are verified."""

    kind: TokenKind
    issuer: str
    subject: str
    email: str
    client_id: str
    """The id of the client in this gateway that stands for the issuer's client."""
    scopes: frozenset[str]
    expires_at: float

    @property
    def grant_id(self) -> Id:
        """An id that is used instead of the id of a grant. Only the issuer of the token knows the grant.

        The id is the same for all tokens of one person for one client.
        """
        return Id(str(uuid.uuid5(uuid.NAMESPACE_URL, json.dumps([self.issuer, self.subject, self.client_id]))))


def build_principal(
    claims: Claims | ExternalClaims,
    user: User,
    client: Client,
    *,
    allowed: Iterable[str],
    flow: GrantType,
    plants: frozenset[Id] | None = None,
) -> Principal:
    """Return the principal for verified claims. `allowed` are the scopes that the client may use."""
    return Principal(
        user_id=user.id,
        client_id=client.id,
        grant_id=claims.grant_id,
        kind=claims.kind,
        scopes=claims.scopes.intersection(allowed),
        expires_at=claims.expires_at,
        flow=flow,
        access_token_everywhere=client.access_token_everywhere,
        standing=user.standing,
        plants=plants,
    )
