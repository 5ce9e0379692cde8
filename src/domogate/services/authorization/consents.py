"""Handles the consent of a person: a grant is stored, and the client gets a code or tokens."""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Protocol

import msgspec

from domogate.common.secrets import hash_secret, new_secret
from domogate.domain.authorization import AuthorizationCode, Session
from domogate.domain.ids import Id, new_id
from domogate.domain.people import PAGES_CLIENT, Client, Grant, GrantType, IdentityScope, User
from domogate.domain.plants import Plant
from domogate.ports import Clock, DeveloperStore, PeopleStore, PlantStore, TokenStore
from domogate.services.authorization.audit_notes import AuditNotes
from domogate.services.authorization.faults import OAuthError, OAuthFault
from domogate.services.authorization.scopes import GROUP_OF, ON_PURPOSE, is_about_plants
from domogate.services.authorization.tokens import Lifetimes, TokenMint, TokenSet
from domogate.services.rights.access import list_own_plants

ONLINE = "online."
"""The prefix of a code that gives no refresh token: the client asked for offline access, but the person did not grant it.

The store keeps a hash of the whole code, so the client cannot remove the prefix."""

MOST_CHOSEN = 50
"""Only a person with at most this number of plants can choose single plants.

A person with more plants can only give an application access to all plants. This limits the size of the form, of the grant and
of verified tokens.
"""

_SECURE = "https://"


class ConsentRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A client's request for access, after all checks."""

    client: Client
    scopes: tuple[str, ...]
    redirect_uri: str
    named_redirect_uri: str | None
    """The redirect URI that the request contained. None if the request contained no redirect URI."""
    code_challenge: str | None = None
    nonce: str | None = None


class Choice(msgspec.Struct, frozen=True):
    """The scopes and plants that a person grants to an application."""

    scopes: tuple[str, ...]
    plants: frozenset[Id] | None = None
    """None means all plants of the person, including plants that the person gets later (Decision 0079)."""


class Question(msgspec.Struct, frozen=True):
    """The question of the consent page: which scopes the person grants, and for which plants.

    Some scopes and plants are ticked at first.
    """

    scopes: tuple[str, ...]
    plants: tuple[Plant, ...]
    """All present plants of the person. Empty if no scope is about plants."""
    ticked_scopes: frozenset[str]
    ticked_plants: frozenset[str]
    developer: User | None = None
    """The person who registered the application by self-service. No operator checked the application (Decision 0081).

    It is None if the application was not registered by self-service, or if this person is an operator.
    """

    @property
    def about_plants(self) -> bool:
        return is_about_plants(self.scopes)

    @property
    def can_choose_plants(self) -> bool:
        return 0 < len(self.plants) <= MOST_CHOSEN


class Incomplete(StrEnum):
    """The reason why the gateway cannot use a person's answer on the consent page. The page asks again."""

    NO_SCOPE = "scopes"
    NO_PLANT = "plants"


class ConsentStore(TokenStore, PlantStore, PeopleStore, DeveloperStore, Protocol):
    """The parts of the store with grants, tokens, plants and the developers of applications."""


class Consents:
    """Decides whether a person has to be asked for consent, and makes grants."""

    def __init__(self, store: ConsentStore, clock: Clock, mint: TokenMint, lifetimes: Lifetimes, notes: AuditNotes) -> None:
        self._store = store
        self._clock = clock
        self._mint = mint
        self._lifetimes = lifetimes
        self._notes = notes

    async def find_choice(self, user: User, asked: ConsentRequest) -> Choice | None:
        """Return the choice for this request if the person need not be asked, otherwise None.

        The person need not be asked if an earlier grant to the client has all scopes of the request. The choice has these
        scopes and the plants of this grant. If there are several such grants, the newest one counts.

        The gateway's own pages get all scopes of the request without a question. For all other clients, the person is always
        asked about offline access. The person is also always asked about a client that another program could impersonate. Such
        a client has no secret, and any program on the machine could use its redirect URI (RFC 8252 §8.6).
        """
        client = asked.client
        if client.id == PAGES_CLIENT:
            return Choice(asked.scopes)  # This client is the gateway itself (Decision 0076).
        if IdentityScope.OFFLINE_ACCESS in asked.scopes:
            return None
        if not client.confidential and not asked.redirect_uri.startswith(_SECURE):
            return None
        covering = (it for it in await self._list_own_grants(user, client) if set(it.scopes).issuperset(asked.scopes))
        grant = next(covering, None)
        return None if grant is None else Choice(asked.scopes, grant.plants)

    async def ask(self, user: User, asked: ConsentRequest) -> Question:
        """Return the question of the consent page, with some scopes and plants ticked.

        Scopes that can open a lock or administer something are not ticked. Plants are ticked as in the person's newest grant to
        this client. If there is no earlier grant, all plants are ticked.
        """
        about_plants = is_about_plants(asked.scopes)
        plants = await self._list_plants(user) if about_plants else ()
        earlier = (it.plants for it in await self._list_own_grants(user, asked.client) if is_about_plants(it.scopes))
        chosen = next(earlier, None)
        return Question(
            scopes=asked.scopes,
            plants=plants,
            ticked_scopes=frozenset(scope for scope in asked.scopes if GROUP_OF[scope] not in ON_PURPOSE),
            ticked_plants=frozenset(plant.id for plant in plants if chosen is None or plant.id in chosen),
            developer=await self._find_developer(asked.client),
        )

    async def _find_developer(self, client: Client) -> User | None:
        owner_id = await self._store.find_client_owner(client.id)
        owner = None if owner_id is None else await self._store.find_user(owner_id)
        return None if owner is None or owner.operator else owner

    def choose(self, question: Question) -> Choice | Incomplete:
        """Return the scopes and plants that the person ticked, or the reason why the page must ask again.

        If all plants are ticked, the choice is for all plants, including later ones. The same is true if there are too many
        plants to choose from (`MOST_CHOSEN`).
        """
        # Every scope tells the application who the person is, so the person cannot refuse only openid.
        kept = question.ticked_scopes | {IdentityScope.OPENID}
        scopes = tuple(scope for scope in question.scopes if scope in kept)
        if not scopes:
            return Incomplete.NO_SCOPE
        if not is_about_plants(scopes) or not question.can_choose_plants:
            return Choice(scopes)
        chosen = frozenset(plant.id for plant in question.plants if plant.id in question.ticked_plants)
        if not chosen:
            return Incomplete.NO_PLANT
        return Choice(scopes, None if len(chosen) == len(question.plants) else chosen)

    async def _list_plants(self, user: User) -> tuple[Plant, ...]:
        plants, _ = await self._store.list_plants_of(user.id)
        return tuple(list_own_plants(plants, user.id, None, self._clock.now()).plants)

    async def _list_own_grants(self, user: User, client: Client) -> list[Grant]:
        """Return the valid grants that the person gave to the client, the newest first.

        A grant whose code was not redeemed is left out. Grants without a login time are left out too. An operator made them,
        not this person.
        """
        grants = await self._store.list_grants(user.id)
        return [grant for grant in grants if grant.client_id == client.id and grant.auth_time is not None]

    async def grant_code(self, user: User, session: Session, asked: ConsentRequest, choice: Choice, address: str = "") -> str:
        """Store a grant and the hash of its code. Return the code, which the client redeems for tokens.

        Raises OAuthFault if the user or the client has just been deleted.
        """
        grant = self._new_grant(user, session, asked, choice, GrantType.AUTHORIZATION_CODE)
        refused_offline = IdentityScope.OFFLINE_ACCESS in set(asked.scopes) - set(choice.scopes)
        value = (ONLINE if refused_offline else "") + new_secret()
        code = AuthorizationCode(
            code_hash=hash_secret(value),
            grant_id=grant.id,
            client_id=asked.client.id,
            expires_at=self._clock.now() + self._lifetimes.code,
            redirect_uri=asked.named_redirect_uri,
            code_challenge=asked.code_challenge,
            nonce=asked.nonce,
        )
        with _reporting_deletion():
            await self._store.add_code(grant, code)
        self._notes.granted(grant, session, address)
        return value

    async def grant_tokens(
        self, user: User, session: Session, asked: ConsentRequest, choice: Choice, address: str = ""
    ) -> TokenSet:
        """Issue the tokens of the implicit flow: an access token and an id token, but no refresh token.

        OpenID Connect Core §3.2.2.5 describes this answer. Raises OAuthFault if the user or the client has just been deleted.
        """
        grant = await self._grant_implicit(user, session, asked, choice, address)
        return await self._mint.mint(user, asked.client, grant, nonce=asked.nonce)

    async def grant_id_token(
        self, user: User, session: Session, asked: ConsentRequest, choice: Choice, address: str = ""
    ) -> str:
        """Issue an id token without an access token, for the implicit flow.

        Raises OAuthFault if the user or the client has just been deleted.
        """
        grant = await self._grant_implicit(user, session, asked, choice, address)
        return await self._mint.mint_id_token(user, asked.client, grant, nonce=asked.nonce)

    def note_denial(self, user: User, client: Client, address: str = "") -> None:
        self._notes.denied(user.id, client.id, address)

    async def _grant_implicit(self, user: User, session: Session, asked: ConsentRequest, choice: Choice, address: str) -> Grant:
        grant = self._new_grant(user, session, asked, choice, GrantType.IMPLICIT)
        with _reporting_deletion():
            await self._store.add_grant(grant)
        self._notes.granted(grant, session, address)
        return grant

    def _new_grant(self, user: User, session: Session, asked: ConsentRequest, choice: Choice, flow: GrantType) -> Grant:
        return Grant(
            id=new_id(),
            user_id=user.id,
            client_id=asked.client.id,
            scopes=choice.scopes,
            flow=flow,
            created_at=self._clock.now(),
            auth_time=session.auth_time,
            factors=session.factors,
            plants=choice.plants,
        )


@contextmanager
def _reporting_deletion() -> Iterator[None]:
    """Raise OAuthFault if the store refuses a grant because its user or client has just been deleted."""
    try:
        yield
    except ValueError:
        raise OAuthFault(OAuthError.ACCESS_DENIED, "The account or the application was deleted.") from None
