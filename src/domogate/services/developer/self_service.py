"""Lets people register their own applications and subscription keys, if the operator allows it (Decision 0081)."""

import math
import secrets
from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from domogate.common.window_limiter import WindowLimiter
from domogate.domain.faults import TooManyRequests
from domogate.domain.ids import Id
from domogate.domain.people import DEVELOPER_SCOPE, KNOWN_SCOPES, MANAGE_SCOPE, Client, Subscription
from domogate.ports import Clock, DeveloperStore, NewSubscriptionKey, SubscriptionStore
from domogate.services.audit import AuditAction, key_ref
from domogate.services.people import Actor, People, check_name
from domogate.services.refusals import Conflict, Forbidden, Invalid, NotFound, Reason
from domogate.wire import to_datetime

MOST_APPLICATIONS, MOST_KEYS = 10, 5
"""The numbers of applications and keys that one person may have."""
MOST_NEW, NEW_SPAN = 20, 86_400.0
"""How many applications and keys, counted together, one person may register in `NEW_SPAN` seconds.

Deleted applications and keys also count.
"""
MOST_URLS, LONGEST_URL = 10, 1_000
"""The limits of one application: the number of addresses of each kind, and the length of each address. The kinds are redirect
URIs, redirect URIs after a logout, and origins.
"""

SCOPES = tuple(scope for scope in KNOWN_SCOPES if scope not in (DEVELOPER_SCOPE, MANAGE_SCOPE))
"""The scopes that an application of self-service can have. Only an operator can give other scopes to an application."""


class SelfServiceRules(msgspec.Struct, frozen=True):
    """The rules of the operator: whether people may register applications and keys, and the limits of each key."""

    enabled: bool
    daily_quota: int
    rate: str


class SelfServiceStore(DeveloperStore, SubscriptionStore, Protocol):
    """The parts of the store with people's applications and keys, and with the usage of the keys."""


class OwnKey(msgspec.Struct, frozen=True):
    """A subscription of the person, and the number of requests with its key today (UTC)."""

    subscription: Subscription
    used_today: int


class SelfService:
    """The applications and keys of people.

    A person may always see and delete their own applications and keys, even if self-service is not allowed.
    """

    def __init__(
        self, store: SelfServiceStore, people: People, clock: Clock, new_key: NewSubscriptionKey, rules: SelfServiceRules
    ) -> None:
        self._store = store
        self._people = people
        self._clock = clock
        self._new_key = new_key
        self._new = WindowLimiter(MOST_NEW, NEW_SPAN)
        self.rules = rules

    def check_enabled(self) -> None:
        """Raises Forbidden if the operator does not allow self-service."""
        if not self.rules.enabled:
            raise Forbidden(
                "The operator of this gateway does not allow self-service. Ask the operator.", Reason.SELF_SERVICE_OFF
            )

    async def list_applications(self, user_id: Id) -> Sequence[Client]:
        return await self._store.list_own_clients(user_id)

    async def add_application(self, client: Client, *, confidential: bool, by: Actor) -> tuple[Client, str | None]:
        """Register an application under a new id. Return the application and its secret.

        The secret is not shown again. For a public client, None is returned instead of a secret.

        Raises Forbidden if self-service is not allowed, and Invalid if a value is not allowed. Raises Conflict if the person
        has too many applications. Raises TooManyRequests if the person has registered too many applications and keys in the
        last 24 hours.
        """
        self._admit(by)
        client = msgspec.structs.replace(client, id=f"app-{secrets.token_hex(8)}")
        _check(client)
        added = await self._people.clients.add_own(client, confidential=confidential, most=MOST_APPLICATIONS, by=by)
        self._count(by)
        return added

    async def change_application(self, client_id: str, change: Callable[[Client], Client], *, by: Actor) -> Client:
        """Change the application, and return it.

        Raises Forbidden if self-service is not allowed, and Invalid if a new value is not allowed. Raises NotFound if the
        person has no such application.
        """
        self.check_enabled()
        await self._check_own(client_id, by)

        def checked(client: Client) -> Client:
            changed = change(client)
            _check(changed)
            return changed

        return await self._people.clients.change(client_id, checked, by=by)

    async def rotate_secret(self, client_id: str, *, by: Actor) -> str:
        """Return a new secret. The old secret is refused from now on.

        Raises Forbidden if self-service is not allowed, and NotFound if the person has no such application. Raises Conflict if
        the application is a public client.
        """
        self.check_enabled()
        await self._check_own(client_id, by)
        return await self._people.clients.rotate_secret(client_id, by=by)

    async def delete_application(self, client_id: str, *, by: Actor) -> None:
        """Delete the application and all grants that people gave to it.

        Raises NotFound if the person has no such application.
        """
        await self._check_own(client_id, by)
        await self._people.clients.delete(client_id, by=by)

    async def list_keys(self, user_id: Id) -> Sequence[OwnKey]:
        today = to_datetime(self._clock.now()).date().isoformat()
        found = await self._store.list_own_subscriptions(user_id)
        return [OwnKey(one, await self._store.find_usage(one.id, today)) for one in found]

    async def add_key(self, name: str, *, by: Actor) -> tuple[str, OwnKey]:
        """Return a new key, which is not shown again, and its subscription.

        Raises Forbidden if self-service is not allowed, and Invalid if the name is not allowed. Raises Conflict if the person
        has too many keys. Raises TooManyRequests if the person has registered too many applications and keys in the last 24
        hours.
        """
        user_id = self._admit(by)
        check_name(name)
        key, subscription = self._new_key(name, self.rules.rate, self.rules.daily_quota, None, self._clock.now())
        if not await self._store.add_own_subscription(subscription, user_id, MOST_KEYS):
            raise Conflict(f"You have {MOST_KEYS} keys already, which is the limit. Revoke one first.", Reason.TOO_MANY_KEYS)
        self._count(by)
        self._people.note(AuditAction.KEY_ISSUED, by, key_ref(subscription.id))
        return key, OwnKey(subscription, 0)

    async def revoke_key(self, subscription_id: Id, *, by: Actor) -> None:
        """Delete the key; the next request with it is refused. Raises NotFound if the person has no such key."""
        if by.user_id is None or not await self._store.remove_own_subscription(subscription_id, by.user_id):
            raise NotFound("You have no such key.")
        self._people.note(AuditAction.KEY_REVOKED, by, key_ref(subscription_id))

    async def _check_own(self, client_id: str, by: Actor) -> None:
        own = () if by.user_id is None else await self._store.list_own_clients(by.user_id)
        if client_id not in {client.id for client in own}:
            raise NotFound("You have no such application.")

    def _admit(self, by: Actor) -> Id:
        """Return the id of the person, if the person may register one more application or key now.

        Raises Forbidden if self-service is not allowed. Raises TooManyRequests if the person has registered too many
        applications and keys in the last 24 hours.
        """
        self.check_enabled()
        assert by.user_id is not None, "only people register for themselves"
        if wait := self._new.wait(by.user_id, self._clock.now()):
            raise TooManyRequests(f"a person may register {MOST_NEW} applications and keys a day", math.ceil(wait))
        return by.user_id

    def _count(self, by: Actor) -> None:
        if by.user_id is not None:
            self._new.count(by.user_id, self._clock.now())


def _check(client: Client) -> None:
    """Check the rules that hold only for applications of self-service. Raises Invalid if the client breaks a rule."""
    if refused := [scope for scope in client.scopes if scope not in SCOPES]:
        raise Invalid(
            f"Only an operator can register an application with the scope {refused[0]!r}; allowed are: {', '.join(SCOPES)}."
        )
    for urls in (client.redirect_uris, client.post_logout_redirect_uris, client.origins):
        if len(urls) > MOST_URLS or any(len(url) > LONGEST_URL for url in urls):
            raise Invalid(f"Give at most {MOST_URLS} addresses of each kind, each with at most {LONGEST_URL} characters.")
    for uri in (*client.redirect_uris, *client.post_logout_redirect_uris):
        scheme = uri.partition(":")[0].lower()
        # The scheme of an application has a dot, so that two applications do not have the same scheme (RFC 8252 §7.1).
        if scheme not in ("http", "https") and "." not in scheme:
            raise Invalid(
                f"{uri!r} is not an address to return to. Begin it with https://, http://localhost or com.example.app:/."
            )
    if not client.redirect_uris:
        raise Invalid("An application that logs people in needs an address to return to (redirect URI).")
    if not client.scopes:
        raise Invalid("An application needs at least one scope. Without a scope it can do nothing.")
