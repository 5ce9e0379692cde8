"""Whether a webhook may be told anything at this moment (Decision 0043): asked before every post."""

from typing import Protocol

import msgspec

from domogate.domain.events import GrantRevoked, UserChanged
from domogate.domain.ids import Id
from domogate.domain.people import Grant, Standing, User
from domogate.domain.plants import PlantStatus
from domogate.domain.webhooks import Webhook
from domogate.ports import GrantStore, PeopleStore
from domogate.services.plants.read_model import PlantView, ReadModel


class RightsStore(GrantStore, PeopleStore, Protocol):
    """Grants, and the users who gave them."""


class Ended(Exception):
    """Never again; the message says why."""


class Withheld(Exception):
    """Not now; the message says what somebody has to do first."""


class Permission(msgspec.Struct, frozen=True):
    """What the webhook's application may read of the plant, now."""

    scopes: frozenset[str]
    plant: PlantView


class _Known(msgspec.Struct, frozen=True):
    grant: Grant | None
    user: User | None


class Rights:
    """Grants and people as the feed keeps them true, and the read model's plants."""

    def __init__(self, store: RightsStore, read_model: ReadModel, *, capacity: int = 20_000) -> None:
        self._store = store
        self._read_model = read_model
        self._capacity = capacity
        self._known: dict[Id, _Known] = {}
        self._epoch = 0

    def apply(self, event: GrantRevoked | UserChanged) -> None:
        """What was known of it is asked for again."""
        self._epoch += 1
        if isinstance(event, GrantRevoked):
            self._known.pop(event.grant_id, None)
            return
        theirs = [grant_id for grant_id, it in self._known.items() if it.grant and it.grant.user_id == event.user_id]
        for grant_id in theirs:
            del self._known[grant_id]

    async def ask(self, webhook: Webhook) -> Permission:
        """Raises Ended, Withheld."""
        known = self._known.get(webhook.grant_id) or await self._find(webhook.grant_id)
        plant = self._read_model.find_plant(webhook.plant_id) or await self._read_model.get_plant(webhook.plant_id)
        grant, user = known.grant, known.user
        if user is None and grant is not None:
            raise Ended("The user does not exist any more.")
        if grant is None or user is None or grant.revoked_at is not None:
            raise Ended("The user does not let the application in any more.")
        if plant is None or plant.plant.status is not PlantStatus.ACTIVE:
            raise Ended("The plant was removed.")
        if webhook.user_id not in plant.readers:
            raise Ended("The user has no rights on the plant any more.")
        if user.standing is not Standing.GOOD:
            what = "renew their password" if user.standing.password_is_due else "accept the terms and conditions"
            raise Withheld(f"The user must {what} first, on their account page.")
        return Permission(frozenset(grant.scopes), plant)

    async def _find(self, grant_id: Id) -> _Known:
        while True:
            epoch = self._epoch
            grant = await self._store.find_grant(grant_id)
            user = None if grant is None else await self._store.find_user(grant.user_id)
            if epoch == self._epoch:  # else something changed while we asked: it may not be in what we were told
                break
        if len(self._known) >= self._capacity:
            del self._known[next(iter(self._known))]
        known = self._known[grant_id] = _Known(grant, user)
        return known
