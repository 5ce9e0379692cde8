"""Authentication of clients: confidential clients send a secret, public clients do not."""

from domogate.domain.people import Client, GrantType
from domogate.ports import Clock
from domogate.services.authorization.audit_notes import AuditNotes
from domogate.services.authorization.client_throttle import ClientThrottle
from domogate.services.authorization.faults import ClientThrottled, OAuthError, OAuthFault
from domogate.services.authorization.secrets import matches
from domogate.services.rights.identity_cache import IdentityCache

_REFUSED = "The client is not registered here, or its authentication is wrong."


class ClientAuthenticator:
    """Finds clients, and checks their secrets."""

    def __init__(self, identities: IdentityCache, notes: AuditNotes, clock: Clock) -> None:
        self._identities = identities
        self._notes = notes
        self._throttle = ClientThrottle(clock)

    async def find(self, client_id: str) -> Client | None:
        return await self._identities.find_client(client_id)

    async def authenticate(self, client_id: str, secret: str | None, address: str = "") -> Client:
        """Return the client. Raise OAuthFault if the client is unknown or its secret is wrong.

        An unknown client and a wrong secret get the same error (RFC 6749 §5.2, invalid_client).

        A public client has no secret (RFC 6749 §2.1). A public client that sends a secret is refused. After many wrong secrets,
        further wrong secrets raise ClientThrottled.
        """
        client = await self._identities.find_client(client_id)
        proven = matches(secret or "", client.secret_hash if client is not None else None)
        if client is None or (not proven and (client.confidential or secret)):
            wait = self._throttle.fail(client_id, address)
            if client is not None:
                self._notes.wrong_secret(client.id, address, slowed=wait > 0)
            raise ClientThrottled(wait) if wait else OAuthFault(OAuthError.INVALID_CLIENT, _REFUSED)
        return client


def require_grant(client: Client, grant: GrantType) -> None:
    """Raises OAuthFault if the client is not registered for the grant type."""
    if grant not in client.grants:
        raise OAuthFault(OAuthError.UNAUTHORIZED_CLIENT, f"This client is not registered for the grant {grant}.")
