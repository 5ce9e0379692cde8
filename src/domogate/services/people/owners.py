"""Checks before an owner changes the people of a plant (Decision 0059)."""

from functools import cached_property

from domogate.common.window_limiter import WindowLimiter
from domogate.domain.ids import Id
from domogate.domain.plants import Plant
from domogate.ports import StoredPlant
from domogate.services.people.accounts import Accounts
from domogate.services.refusals import Forbidden, NotFound, Reason, Refused
from domogate.services.rights.access import may_invite

OWNER_INVITATIONS, OWNER_CHANGES, OWNER_SPAN = 20, 100, 3600.0
"""In `OWNER_SPAN` seconds, an owner may make `OWNER_INVITATIONS` invitations and `OWNER_CHANGES` changes of limits.

Both are limited, because an invitation can send a mail, and a change adds an entry to the audit log.
"""
MOST_PEOPLE = 200
"""If a plant has this number of allowed users, invitations and invitation links together, its owner cannot invite more."""


class TooOften(Refused):
    """The owner has made too many invitations or changes, so the present request was refused.

    The owner can try again after `wait` seconds.
    """

    def __init__(self, wait: float) -> None:
        super().__init__("Too many invitations or changes were made; try again later.")
        self.wait = wait


class OwnerChecks(Accounts):
    """Finds plants, and checks whether a person may invite people to a plant now."""

    async def get_plant(self, plant_id: Id) -> Plant:
        """Return the plant, which may be a removed plant. Raises NotFound if there is no plant with this id."""
        return (await self._get_stored(plant_id)).plant

    async def _get_stored(self, plant_id: Id) -> StoredPlant:
        found = await self._store.find_plant(plant_id)
        if found is None:
            raise NotFound(f"There is no plant {plant_id}.")
        return found

    @cached_property
    def _invitation_limiter(self) -> WindowLimiter:
        return WindowLimiter(OWNER_INVITATIONS, OWNER_SPAN)

    @cached_property
    def _change_limiter(self) -> WindowLimiter:
        return WindowLimiter(OWNER_CHANGES, OWNER_SPAN)

    async def _check_owner(self, plant_id: Id, user_id: Id) -> StoredPlant:
        stored = await self._get_stored(plant_id)
        if not may_invite(await self._store.find_user(user_id), stored.plant):
            raise Forbidden("Only the plant's owner may do this.")
        return stored

    async def _check_invitation(self, plant_id: Id, user_id: Id) -> StoredPlant:
        """Check whether the owner may invite one more person now, and count the invitation.

        Raises NotFound, Forbidden, TooOften.
        """
        stored = await self._check_owner(plant_id, user_id)
        now, plant = self._clock.now(), stored.plant
        links = await self._store.list_invitation_links(plant_id, now)
        # Nothing is awaited between the check and the count. Otherwise parallel requests could exceed the limit.
        self._check_rate(self._invitation_limiter, user_id)
        if len(plant.allowed) + len(plant.invited) + len(links) >= MOST_PEOPLE:
            raise Forbidden(
                f"A plant can have at most {MOST_PEOPLE} people and open invitations; withdraw some first.",
                Reason.TOO_MANY_PEOPLE,
            )
        self._invitation_limiter.count(user_id, now)
        return stored

    def _check_rate(self, limiter: WindowLimiter, user_id: Id) -> None:
        if wait := limiter.wait(user_id, self._clock.now()):
            raise TooOften(wait)


def plant_ref(plant_id: Id) -> str:
    """Return the reference to a plant for an audit entry."""
    return f"plant:{plant_id}"
