"""People and what is theirs: their accounts, the plants they share, the applications that are registered."""

from collections.abc import Awaitable
from enum import StrEnum
from typing import Protocol

import msgspec

from domogate.domain.authorization import LinkPurpose
from domogate.domain.ids import Id
from domogate.domain.people import User
from domogate.domain.plants import Plant, PlantStatus
from domogate.ports import ClientStore, Clock, Hasher, MemberStore
from domogate.services.audit.log import AuditAction, AuditLog, user_ref
from domogate.services.authorization.registration import Clients
from domogate.services.people.accounts import (
    COMMAND_LINE,
    LINK_PATH,
    Accounts,
    AccountStore,
    Actor,
    By,
    IssuedLink,
    Mail,
    to_doer,
)
from domogate.services.people.rules import check_email
from domogate.services.refusals import Conflict, Forbidden, Invalid, MailFailed, NotFound, Refused
from domogate.services.rights.access import may_remove

__all__ = [
    "COMMAND_LINE",
    "LINK_PATH",
    "Actor",
    "Conflict",
    "Forbidden",
    "Invalid",
    "Invited",
    "InvitedAs",
    "IssuedLink",
    "Mail",
    "MailFailed",
    "NotFound",
    "People",
    "Refused",
]


class PeopleServiceStore(AccountStore, MemberStore, ClientStore, Protocol):
    """Users, the plants they may enter, and clients."""


class InvitedAs(StrEnum):
    MEMBER = "member"
    """They were active: they are in the plant now."""
    INVITED = "invited"
    """They are in it as soon as they are active."""


class Invited(msgspec.Struct, frozen=True):
    """What came of an invitation. There is a link for who is not active yet."""

    outcome: InvitedAs
    link: IssuedLink | None = None


class People(Accounts):
    """Everything that is done to users, to people in plants and to clients. `by` is who does it."""

    _store: PeopleServiceStore

    def __init__(
        self,
        store: PeopleServiceStore,
        hasher: Hasher,
        clock: Clock,
        mail: Mail,
        *,
        base_url: str,
        link_lifetime: float = 86_400.0,
        audit: AuditLog | None = None,
    ) -> None:
        super().__init__(store, hasher, clock, mail, base_url=base_url, link_lifetime=link_lifetime, audit=audit)
        self.clients = Clients(store, self.note)

    async def get_plant(self, plant_id: Id) -> Plant:
        """Removed ones too. Raises NotFound."""
        found = await self._store.find_plant(plant_id)
        if found is None:
            raise NotFound(f"There is no plant {plant_id}.")
        return found.plant

    async def invite(self, plant_id: Id, email: str, *, show_link: bool = False, by: By = COMMAND_LINE) -> Invited:
        """A membership at once for who is active. Others get a link by which they become so, and an account for it."""
        plant = await self.get_plant(plant_id)
        check_email(email)
        if not await self._store.invite(plant_id, email):
            raise Conflict(f"{email} is in the plant or invited to it already.")
        user = await self._store.find_user_by_email(email)
        outcome = InvitedAs.MEMBER if user is not None and user.active else InvitedAs.INVITED
        self.note(AuditAction.INVITED, by, plant_ref(plant_id), outcome=outcome)
        if user is not None and user.active:
            if not show_link:
                await self.mailed(self._mail.send_invitation(email, plant.name, None, self._link_lifetime))
            return Invited(InvitedAs.MEMBER)
        if user is None:
            try:
                user = await self._add(email, "", operator=False, by=by)
            except Conflict:  # somebody else made the account at this moment
                user = await self.get_user_by_email(email)
        return Invited(InvitedAs.INVITED, await self._link_for(user, plant, show_link, by))

    async def _link_for(self, user: User, plant: Plant, show_link: bool, by: By) -> IssuedLink:
        def send(url: str) -> Awaitable[bool]:
            return self._mail.send_invitation(user.email, plant.name, url, self._link_lifetime)

        return await self.hand_out_link(user, LinkPurpose.PASSWORD, by, None if show_link else send)

    async def withdraw_invitation(self, plant_id: Id, email: str, *, by: By = COMMAND_LINE) -> None:
        await self.get_plant(plant_id)
        if not await self._store.withdraw_invitation(plant_id, email):
            raise NotFound(f"{email} has no open invitation to this plant.")
        self.note(AuditAction.WITHDRAWN, by, plant_ref(plant_id), invitation="yes")

    async def allow(self, plant_id: Id, user_id: Id, *, by: By = COMMAND_LINE) -> None:
        """Let a user into the plant, active or not. Nothing happens when they are in it."""
        await self.get_plant(plant_id)
        await self.get_user(user_id)
        if await self._store.allow_user(plant_id, user_id):
            self.note(AuditAction.ALLOWED, by, plant_ref(plant_id), user=user_ref(user_id))

    async def withdraw_user(self, plant_id: Id, user_id: Id, *, by: By = COMMAND_LINE) -> None:
        """They lose their right on the plant with their next request."""
        plant = await self.get_plant(plant_id)
        if user_id == plant.owner.user_id:
            raise Conflict(f"{plant.owner.email} owns the plant and cannot be withdrawn. Remove the plant instead.")
        if not await self._store.withdraw_user(plant_id, user_id):
            raise NotFound("The user is not allowed in this plant.")
        action = AuditAction.LEFT if to_doer(by).user_id == user_id else AuditAction.WITHDRAWN
        self.note(action, by, plant_ref(plant_id), user=user_ref(user_id))

    async def withdraw(self, plant_id: Id, email: str, *, by: By = COMMAND_LINE) -> None:
        """Whichever they have there: a membership or an invitation."""
        plant = await self.get_plant(plant_id)
        folded = email.casefold()
        for member in (plant.owner, *plant.allowed):
            if member.email.casefold() == folded:
                await self.withdraw_user(plant_id, member.user_id, by=by)
                return
        await self.withdraw_invitation(plant_id, email, by=by)

    async def leave_plant(self, plant_id: Id, user_id: Id, *, address: str = "") -> None:
        """By an allowed user. Its owner cannot leave it, only remove it."""
        await self.withdraw_user(plant_id, user_id, by=Actor(user_id, address))

    async def remove_plant(self, plant_id: Id, *, by: By = COMMAND_LINE, address: str = "") -> None:
        """By its owner or an operator. It is listed as removed for a while, and is gone everywhere else (Decision 0009)."""
        plant = await self.get_plant(plant_id)
        await self._check_may_remove(plant, by)
        if plant.status is PlantStatus.REMOVED:
            raise Conflict(f"{plant.name} is removed already.")
        await self._store.set_plant_status(plant_id, PlantStatus.REMOVED, self._clock.now())
        self.note(AuditAction.PLANT_CHANGED, to_doer(by, address), plant_ref(plant_id), status=PlantStatus.REMOVED)

    async def restore_plant(self, plant_id: Id, *, by: By = COMMAND_LINE, address: str = "") -> None:
        """By an operator, or by its owner: nothing of it was lost."""
        plant = await self.get_plant(plant_id)
        await self._check_may_remove(plant, by)
        if plant.status is PlantStatus.ACTIVE:
            raise Conflict(f"{plant.name} is active already.")
        await self._store.set_plant_status(plant_id, PlantStatus.ACTIVE, self._clock.now())
        self.note(AuditAction.PLANT_CHANGED, to_doer(by, address), plant_ref(plant_id), status=PlantStatus.ACTIVE)

    async def _check_may_remove(self, plant: Plant, by: By) -> None:
        user_id = to_doer(by).user_id
        if user_id is None:
            return
        if not may_remove(await self._store.find_user(user_id), plant):
            raise Forbidden("Only the plant's owner or an operator may do this.")


def plant_ref(plant_id: Id) -> str:
    """How a plant is named in an audit entry."""
    return f"plant:{plant_id}"
