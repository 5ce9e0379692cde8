"""Builds the services of this folder."""

from typing import Protocol

from domogate.ports import Audit, Clock, Signer, Verifier
from domogate.services.authorization.audit_notes import AuditNotes
from domogate.services.authorization.client_authentication import ClientAuthenticator
from domogate.services.authorization.consents import Consents, ConsentStore
from domogate.services.authorization.exchange import Exchange, ExchangeStore
from domogate.services.authorization.hints import IdTokenHints
from domogate.services.authorization.inspection import TokenInspection
from domogate.services.authorization.secrets import TextMac
from domogate.services.authorization.tokens import Lifetimes, TokenMint
from domogate.services.rights.identity_cache import IdentityCache


class AuthorizationStore(ExchangeStore, ConsentStore, Protocol):
    """The parts of the store with grants, tokens, users and plants."""


class Authorization:
    """The services for OAuth that the surfaces use. Each service has its own file."""

    def __init__(
        self,
        store: AuthorizationStore,
        identities: IdentityCache,
        signer: Signer,
        verifier: Verifier,
        clock: Clock,
        *,
        issuer: str,
        lifetimes: Lifetimes,
        audit: Audit | None = None,
    ) -> None:
        notes = AuditNotes(audit)
        mint = TokenMint(signer, clock, lifetimes)
        self.clock = clock
        self.notes = notes
        self.login_mac = TextMac(signer, "login since")
        self.clients = ClientAuthenticator(identities, notes, clock)
        self.consents = Consents(store, clock, mint, lifetimes, notes)
        self.exchange = Exchange(store, identities, clock, mint, lifetimes, notes, signer)
        self.inspection = TokenInspection(store, verifier, clock, notes, issuer)
        self.hints = IdTokenHints(signer, issuer)
