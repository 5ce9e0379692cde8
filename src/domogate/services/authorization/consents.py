"""A person lets a client in: a grant is made, and a code or tokens are handed out for it."""

from collections.abc import Sequence

import msgspec

from domogate.common.secrets import hash_secret, new_secret
from domogate.domain.authorization import AuthorizationCode, Session
from domogate.domain.ids import new_id
from domogate.domain.people import Client, Grant, GrantType, IdentityScope, User
from domogate.ports import Clock, TokenStore
from domogate.services.authorization.audit_notes import Notes
from domogate.services.authorization.tokens import Lifetimes, TokenMint, TokenSet

ONLINE = "online."
"""How a code begins whose client asked for offline access and did not get it: it is redeemed without a refresh token.

The code is kept as a hash of all of it, so that nobody can take this off."""

_SECURE = "https://"


class ConsentRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a client asks of a person, checked already."""

    client: Client
    scopes: tuple[str, ...]
    redirect_uri: str
    named_redirect_uri: str | None
    """As the request named it; None when it left it out."""
    code_challenge: str | None = None
    nonce: str | None = None


class Consents:
    """Remembers what people have let clients do, and makes the grants."""

    def __init__(self, store: TokenStore, clock: Clock, mint: TokenMint, lifetimes: Lifetimes, notes: Notes) -> None:
        self._store = store
        self._clock = clock
        self._mint = mint
        self._lifetimes = lifetimes
        self._notes = notes

    async def must_ask(self, user: User, wish: ConsentRequest) -> bool:
        """Whether the person has to be asked: not when they have granted all of this to this client before.

        Offline access is asked for every time. So is everything of a client that can be impersonated: one without a secret
        whose redirect URI any program on the machine could be listening on (RFC 8252 §8.6).
        """
        client = wish.client
        if IdentityScope.OFFLINE_ACCESS in wish.scopes:
            return True
        if not client.confidential and not wish.redirect_uri.startswith(_SECURE):
            return True
        # Without a time of login it was an operator's doing, not this person's.
        granted = [
            set(grant.scopes)
            for grant in await self._store.list_grants(user.id)
            if grant.client_id == client.id and grant.auth_time is not None
        ]
        return not any(scopes.issuperset(wish.scopes) for scopes in granted)

    async def grant_code(
        self, user: User, session: Session, wish: ConsentRequest, scopes: Sequence[str], address: str = ""
    ) -> str:
        """The code that the client redeems. Only its hash is kept."""
        grant = self._new_grant(user, session, wish, scopes, GrantType.AUTHORIZATION_CODE)
        refused_offline = IdentityScope.OFFLINE_ACCESS in set(wish.scopes) - set(scopes)
        value = (ONLINE if refused_offline else "") + new_secret()
        code = AuthorizationCode(
            code_hash=hash_secret(value),
            grant_id=grant.id,
            client_id=wish.client.id,
            expires_at=self._clock.now() + self._lifetimes.code,
            redirect_uri=wish.named_redirect_uri,
            code_challenge=wish.code_challenge,
            nonce=wish.nonce,
        )
        await self._store.add_code(grant, code)
        self._notes.granted(grant, address)
        return value

    async def grant_tokens(
        self, user: User, session: Session, wish: ConsentRequest, scopes: Sequence[str], address: str = ""
    ) -> TokenSet:
        """The implicit flow with an access token (OpenID Connect Core §3.2.2.5); never a refresh token."""
        grant = await self._grant_implicit(user, session, wish, scopes, address)
        return await self._mint.mint(user, wish.client, grant, nonce=wish.nonce)

    async def grant_id_token(
        self, user: User, session: Session, wish: ConsentRequest, scopes: Sequence[str], address: str = ""
    ) -> str:
        """The implicit flow without an access token."""
        grant = await self._grant_implicit(user, session, wish, scopes, address)
        return await self._mint.mint_id_token(user, wish.client, grant, nonce=wish.nonce)

    def note_denial(self, user: User, client: Client, address: str = "") -> None:
        self._notes.denied(user.id, client.id, address)

    async def _grant_implicit(
        self, user: User, session: Session, wish: ConsentRequest, scopes: Sequence[str], address: str
    ) -> Grant:
        grant = self._new_grant(user, session, wish, scopes, GrantType.IMPLICIT)
        await self._store.add_grant(grant)
        self._notes.granted(grant, address)
        return grant

    def _new_grant(self, user: User, session: Session, wish: ConsentRequest, scopes: Sequence[str], flow: GrantType) -> Grant:
        return Grant(
            id=new_id(),
            user_id=user.id,
            client_id=wish.client.id,
            scopes=tuple(scope for scope in wish.scopes if scope in scopes),
            flow=flow,
            created_at=self._clock.now(),
            auth_time=session.auth_time,
            factors=session.factors,
        )
