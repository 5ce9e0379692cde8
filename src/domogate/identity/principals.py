"""Builds a Principal from claims, for our own tokens and for tokens of external issuers."""

from collections.abc import Iterable
from typing import Protocol

from domogate.domain.ids import Id
from domogate.domain.people import Client, GrantType, Principal, TokenKind, User


class ProvenClaims(Protocol):
    """The claims that every verified token has."""

    @property
    def kind(self) -> TokenKind: ...
    @property
    def grant_id(self) -> Id: ...
    @property
    def scopes(self) -> frozenset[str]: ...
    @property
    def expires_at(self) -> float: ...


def build_principal(claims: ProvenClaims, user: User, client: Client, *, allowed: Iterable[str], flow: GrantType) -> Principal:
    """The claims of the token, limited to the `allowed` scopes, with the current user and client."""
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
    )
