"""Checks whether a grant is still valid, and which scopes it gives.

Webhooks and tickets need this check, because they are used without the token with which they were made.
"""

import msgspec

from domogate.domain.ids import Id
from domogate.domain.people import Standing
from domogate.services.rights.identity_cache import IdentityCache


class GrantEnded(Exception):
    """The application may not act for the user any more, so its webhook or ticket is not valid. The message says why."""


class GrantHolder(msgspec.Struct, frozen=True):
    """A user, and the scopes that the user granted to an application and that the application may still have."""

    user_id: Id
    scopes: frozenset[str]
    standing: Standing
    plants: frozenset[Id] | None = None
    """The plants of the grant. None means all plants of the user."""


def is_foreign_grant(grant_id: Id) -> bool:
    """Whether another issuer gave this grant.

    The id of such a grant is computed from its issuer, person and client (UUID version 5). Ids of our own grants are random.
    """
    # The characters of the version and of the variant (RFC 9562 §4). `uuid.UUID` takes much longer.
    return grant_id[14] == "5" and grant_id[19] in "89ab"


async def get_grant_holder(identities: IdentityCache, grant_id: Id, user_id: Id, client_id: str) -> GrantHolder:
    """Return the user and the scopes of a valid grant.

    Raises GrantEnded if the user is not active, or if the grant was revoked. Also raises GrantEnded if the user, the
    application or the grant does not exist any more.
    """
    user = await identities.find_user(user_id)
    if user is None or not user.active:
        raise GrantEnded("the user does not exist any more")
    client = await identities.find_client(client_id)
    if client is None:
        raise GrantEnded("the application is not registered any more")
    if is_foreign_grant(grant_id):
        # The other issuer does not tell us if the grant ends. An operator can still take scopes away from the client.
        return GrantHolder(user_id, frozenset(client.scopes), user.standing)
    grant = await identities.find_grant(grant_id)
    if grant is None or grant.revoked_at is not None or (grant.user_id, grant.client_id) != (user_id, client_id):
        raise GrantEnded("the user does not let the application in any more")
    return GrantHolder(user_id, frozenset(client.limit_scopes(grant.scopes)), user.standing, grant.plants)
