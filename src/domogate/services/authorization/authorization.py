"""The whole of it, put together."""

from domogate.ports import Audit, Clock, Signer, Verifier
from domogate.services.authorization.audit_notes import Notes
from domogate.services.authorization.client_authentication import ClientAuthenticator
from domogate.services.authorization.consents import Consents
from domogate.services.authorization.exchange import Exchange, ExchangeStore
from domogate.services.authorization.hints import Hints
from domogate.services.authorization.inspection import Inspection
from domogate.services.authorization.secrets import MIN_SERVER_SECRET, Seal
from domogate.services.authorization.tokens import Lifetimes, TokenMint
from domogate.services.rights.identity_cache import IdentityCache


class Authorization:
    """Lets applications in. Each part has its own file; a surface asks the part."""

    def __init__(
        self,
        store: ExchangeStore,
        identities: IdentityCache,
        signer: Signer,
        verifier: Verifier,
        clock: Clock,
        *,
        issuer: str,
        successor_secret: bytes,
        audit: Audit | None = None,
        access_lifetime: float = 3600.0,
        id_lifetime: float = 3600.0,
        code_lifetime: float = 60.0,
        refresh_lifetime: float = 90 * 86_400.0,
        refresh_grace: float = 10.0,
    ) -> None:
        """`successor_secret` must outlive restarts and be the same in every gateway on the store: refreshes are retried."""
        if len(successor_secret) < MIN_SERVER_SECRET:
            raise ValueError(f"the successor secret has {len(successor_secret)} bytes; {MIN_SERVER_SECRET} are needed")
        lifetimes = Lifetimes(
            access=access_lifetime,
            id=id_lifetime,
            code=code_lifetime,
            refresh=refresh_lifetime,
            refresh_grace=refresh_grace,
        )
        notes = Notes(audit)
        mint = TokenMint(signer, clock, lifetimes)
        self.clock = clock
        self.notes = notes
        self.login_seal = Seal(successor_secret, "login since")
        self.clients = ClientAuthenticator(identities, notes)
        self.consents = Consents(store, clock, mint, lifetimes, notes)
        self.exchange = Exchange(store, identities, clock, mint, lifetimes, notes, successor_secret)
        self.inspection = Inspection(store, verifier, clock, notes, issuer)
        self.hints = Hints(signer, issuer)
