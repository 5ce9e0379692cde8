"""The identity leaf alone: a manual clock, a store in memory, and one user with a client and a grant."""

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import jwt as pyjwt
import msgspec
import pytest

from domogate.domain.events import (
    Change,
    ClientChanged,
    Event,
    GrantRevoked,
    SigningKeysChanged,
    SubscriptionChanged,
    UserChanged,
)
from domogate.domain.faults import TokenRefused
from domogate.domain.formats import email_key
from domogate.domain.ids import Id, new_id
from domogate.domain.people import Client, ExternalAccount, Grant, Principal, Scope, Subscription, TokenKind, User
from domogate.identity.signing import KeyRing, TokenSigner
from domogate.identity.tokens import TokenVerifier
from domogate.ports import Listener, SigningKey, Usage
from support.clocks import ManualClock

ISSUER = "https://gateway.example/auth"
AUDIENCE = "https://gateway.example"
NOW = 1_800_000_000.25

T = TypeVar("T")


class MemoryStore:
    """The part of the store that identity needs. With `held`, it reads at once but returns later."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.users: dict[str, User] = {}
        self.clients: dict[str, Client] = {}
        self.grants: dict[str, Grant] = {}
        self.subscriptions: dict[str, Subscription] = {}
        self.signing_keys: list[SigningKey] = []
        self.bound: dict[tuple[str, str], Id] = {}
        self.usage: dict[tuple[str, str], int] = {}
        self.listeners: list[Listener] = []
        self.reads: list[str] = []
        self.held: asyncio.Event | None = None
        self.failure: Exception | None = None

    def listen(self, listener: Listener) -> None:
        self.listeners.append(listener)

    def tell(self, *events: Event) -> None:
        changes = [Change(number, self.clock.now(), event) for number, event in enumerate(events, 1)]
        for listener in self.listeners:
            listener(changes)

    async def _answer(self, question: str, value: T) -> T:
        self.reads.append(question)
        if self.held is not None:
            await self.held.wait()
        else:
            await asyncio.sleep(0)
        return value

    async def find_user(self, user_id: Id) -> User | None:
        return await self._answer("user", self.users.get(user_id))

    async def find_user_by_email(self, email: str) -> User | None:
        found = (user for user in self.users.values() if email_key(user.email) == email_key(email))
        return await self._answer("user", next(found, None))

    async def find_external_user(self, issuer: str, subject: str) -> User | None:
        return await self._answer("user", self.users.get(self.bound.get((issuer, subject), Id(""))))

    async def bind_external_account(self, issuer: str, subject: str, email: str, at: float) -> User | None:
        found = await self.find_user_by_email(email)
        taken = found is not None and any(it[0] == issuer and user == found.id for it, user in self.bound.items())
        if found is None or not found.active or taken:
            return None
        self.bound[issuer, subject] = found.id
        return found

    async def list_external_accounts(self, user_id: Id) -> Sequence[ExternalAccount]:
        found = [ExternalAccount(*account, user_id, 0.0) for account, bound in self.bound.items() if bound == user_id]
        return await self._answer("accounts", found)

    async def find_client(self, client_id: str) -> Client | None:
        return await self._answer("client", self.clients.get(client_id))

    async def find_grant(self, grant_id: Id) -> Grant | None:
        return await self._answer("grant", self.grants.get(grant_id))

    async def save_user(self, user: User) -> None:
        self.users[user.id] = user
        self.tell(UserChanged(user_id=user.id))

    async def delete_user(self, user_id: Id) -> bool:
        found = self.users.pop(user_id, None) is not None
        self.tell(UserChanged(user_id=user_id))
        return found

    async def save_client(self, client: Client) -> None:
        self.clients[client.id] = client
        self.tell(ClientChanged(client_id=client.id))

    async def add_grant(self, grant: Grant) -> None:
        self.grants[grant.id] = grant

    async def revoke_grant(self, grant_id: Id, at: float) -> bool:
        self.grants[grant_id] = msgspec.structs.replace(self.grants[grant_id], revoked_at=at)
        self.tell(GrantRevoked(grant_id=grant_id))
        return True

    async def find_subscription(self, key_hash: str) -> Subscription | None:
        return await self._answer("subscription", self.subscriptions.get(key_hash))

    async def list_subscriptions(self) -> Sequence[Subscription]:
        return await self._answer("subscriptions", tuple(self.subscriptions.values()))

    async def add_subscription(self, subscription: Subscription) -> None:
        self.subscriptions[subscription.key_hash] = subscription
        self.tell(SubscriptionChanged(key_hash=subscription.key_hash))

    async def revoke_subscription(self, subscription_id: Id, at: float) -> bool:
        for found in [it for it in self.subscriptions.values() if it.id == subscription_id]:
            await self.add_subscription(msgspec.structs.replace(found, revoked_at=at))
        return True

    async def add_usage(self, usages: Sequence[Usage]) -> Sequence[Usage]:
        await self._answer("add usage", None)
        if self.failure is not None:
            raise self.failure
        for it in usages:
            self.usage[it.subscription_id, it.day] = self.usage.get((it.subscription_id, it.day), 0) + it.count
        return [Usage(it.subscription_id, it.day, self.usage[it.subscription_id, it.day]) for it in usages]

    async def list_usages(self, day: str) -> dict[Id, int]:
        return {Id(subscription_id): count for (subscription_id, of_day), count in self.usage.items() if of_day == day}

    async def find_usage(self, subscription_id: Id, day: str) -> int:
        return await self._answer("usage", self.usage.get((subscription_id, day), 0))

    async def list_signing_keys(self) -> Sequence[SigningKey]:
        return await self._answer("signing keys", tuple(self.signing_keys))

    async def change_signing_keys(self, change: Callable[[Sequence[SigningKey]], Sequence[SigningKey]]) -> Sequence[SigningKey]:
        await asyncio.sleep(0)
        changed = change(tuple(self.signing_keys))
        kids = {key.kid for key in changed}
        self.signing_keys[:] = [key for key in self.signing_keys if key.kid not in kids] + list(changed)
        self.tell(SigningKeysChanged())
        return changed


def new_verifier(store: MemoryStore, keyring: KeyRing, **options: Any) -> TokenVerifier:
    needed: Any = store  # it has the methods that the verifier uses
    return TokenVerifier(keyring, needed, store.clock, ISSUER, AUDIENCE, **options)


class Identity:
    """The identity leaf on one memory store, with Anna, her application and her grant."""

    def __init__(self, *, algorithm: str = "ES256", **verifier_options: Any) -> None:
        self.clock = ManualClock(NOW)
        self.store = MemoryStore(self.clock)
        self.keyring = KeyRing(self.store, self.clock, algorithm=algorithm)
        self.signer = TokenSigner(self.keyring, self.clock, ISSUER, AUDIENCE, access_lifetime=3600.0, id_lifetime=3600.0)
        self.verifier = new_verifier(self.store, self.keyring, **verifier_options)
        self.store.listen(self.keyring.apply)
        self.store.listen(self.verifier.apply)
        self.anna = User(new_id(), "anna@example.com", "Anna", password_hash="$argon2id$…")
        self.app = Client("demo-app", "Demo app", scopes=tuple(Scope))
        self.grant = Grant(new_id(), self.anna.id, self.app.id, ("topology.read", "light.read"))
        self.store.users[self.anna.id] = self.anna
        self.store.clients[self.app.id] = self.app
        self.store.grants[self.grant.id] = self.grant

    async def mint(self, kind: TokenKind = TokenKind.ACCESS, lifetime: float | None = None) -> bytes:
        return (await self.signer.mint_token(kind, self.anna, self.app, self.grant, lifetime)).encode()

    async def verify(self, token: bytes) -> Principal:
        return await self.verifier.verify(token)

    def claims(self, **changed: Any) -> dict[str, Any]:
        """The claims of a valid access token. A value of None leaves the claim out."""
        claims = {
            "iss": ISSUER,
            "sub": self.anna.id,
            "aud": AUDIENCE,
            "client_id": self.app.id,
            "grant": self.grant.id,
            "scope": "topology.read",
            "iat": int(self.clock.now()),
            "exp": int(self.clock.now()) + 3600,
            "jti": "1",
        }
        return {name: value for name, value in (claims | changed).items() if value is not None}

    def forge(self, claims: dict[str, Any], *, typ: str | None = "at+jwt", kid: str | None = None, **header: Any) -> bytes:
        """A token that PyJWT signs with the gateway's private key."""
        stored = self.store.signing_keys[0]
        key = pyjwt.PyJWK(json.loads(stored.jwk), algorithm=stored.algorithm).key
        headers = {"typ": typ, "kid": stored.kid if kid is None else kid, **header}
        return pyjwt.encode(claims, key, algorithm=stored.algorithm, headers=headers).encode()


async def new_identity(**verifier_options: Any) -> Identity:
    identity = Identity(**verifier_options)
    await identity.keyring.start()
    return identity


async def refusal(identity: Identity, token: bytes) -> str:
    with pytest.raises(TokenRefused) as caught:
        await identity.verify(token)
    assert identity.verifier.find_verified(token) is None
    return caught.value.message
