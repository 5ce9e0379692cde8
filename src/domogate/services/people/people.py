"""People: their accounts, their membership of plants, and the registered client applications."""

from collections.abc import Awaitable
from enum import StrEnum
from functools import cached_property, partial

import msgspec

from domogate.domain.authorization import LinkPurpose
from domogate.domain.formats import email_key
from domogate.domain.ids import Id
from domogate.domain.limits import Limits
from domogate.domain.plants import Member, Plant, PlantStatus
from domogate.ports import MailKind
from domogate.services.audit import AuditAction, user_ref
from domogate.services.people.actors import COMMAND_LINE, Actor, yes_or_no
from domogate.services.people.clients import Clients
from domogate.services.people.email_changes import EmailChanges
from domogate.services.people.first_operator import FirstOperator
from domogate.services.people.guests import check_limits
from domogate.services.people.invitation_links import InvitationLinks
from domogate.services.people.links import IssuedLink, report_failure
from domogate.services.people.mails import mail_to
from domogate.services.people.owners import plant_ref
from domogate.services.people.rules import check_email
from domogate.services.refusals import Conflict, Forbidden, NotFound, Reason
from domogate.services.rights.access import may_remove


class InvitedAs(StrEnum):
    MEMBER = "member"
    """The user is active and is a member of the plant now."""
    INVITED = "invited"
    """The user is not active yet. The user becomes a member as soon as the user is active."""


class Invited(msgspec.Struct, frozen=True):
    """The result of an invitation. `link` is None if the user is active already, or if no link was made."""

    outcome: InvitedAs
    link: IssuedLink | None = None


class People(InvitationLinks, EmailChanges, FirstOperator):
    """Changes users and members of plants. `clients` changes client applications.

    The argument `by` of the methods is the actor whom the audit log names.
    """

    @cached_property
    def clients(self) -> Clients:
        return Clients(self._store, self.note)

    async def invite(
        self,
        plant_id: Id,
        email: str,
        *,
        limits: Limits | None = None,
        show_link: bool = False,
        link: bool = True,
        by: Actor = COMMAND_LINE,
    ) -> Invited:
        """Invite a person. An active user becomes a member at once. Other people get an account and a link to set a password.

        With `link=False` no link is made. Then an operator has to give the person a link. If `show_link` is true, no mail is
        sent, and the result has the URL of the link if a link was made.

        Raises NotFound if there is no such plant. Raises Invalid if the e-mail address or the limits are refused. Raises
        Conflict if the person has access or an invitation already. Raises MailFailed if the mail fails; the invitation stays.
        """
        stored = await self._get_stored(plant_id)
        plant = stored.plant
        check_email(email)
        limits = check_limits(limits, stored.topology, self._clock.now())
        if not await self._store.invite(plant_id, email, limits):
            raise Conflict(f"{email} already has access or an invitation.", Reason.HAS_ACCESS)
        user = await self._store.find_user_by_email(email)
        outcome = InvitedAs.MEMBER if user is not None and user.active else InvitedAs.INVITED
        self.note(AuditAction.INVITED, by, plant_ref(plant_id), outcome=outcome, limits=yes_or_no(limits is not None))
        inviter = None if by.user_id is None else await self._store.find_user(by.user_id)
        build_mail = partial(mail_to, plant=plant.name, by="" if inviter is None else inviter.name)
        if user is not None and user.active:
            if not show_link:
                await report_failure(self._mail.send(build_mail(user, MailKind.SHARED_HOME, link=self._homes_url)))
            return Invited(InvitedAs.MEMBER)
        if user is None:
            try:
                user = await self._add(email, "", operator=False, by=by)
            except Conflict:  # another request has just created the account
                user = await self.get_user_by_email(email)
        if not link:
            return Invited(InvitedAs.INVITED)
        invited = user

        def send(url: str) -> Awaitable[bool]:
            return self._mail.send(build_mail(invited, MailKind.INVITATION, link=url, lifetime=self.links.lifetime))

        issued = await self.links.issue(invited, LinkPurpose.PASSWORD, by, None if show_link else send)
        return Invited(InvitedAs.INVITED, issued)

    async def withdraw_invitation(self, plant_id: Id, email: str, *, by: Actor = COMMAND_LINE) -> None:
        await self.get_plant(plant_id)
        if not await self._store.withdraw_invitation(plant_id, email):
            raise NotFound(f"{email} has no open invitation to this plant.")
        self.note(AuditAction.WITHDRAWN, by, plant_ref(plant_id), invitation="yes")

    async def allow(self, plant_id: Id, user_id: Id, *, limits: Limits | None = None, by: Actor = COMMAND_LINE) -> None:
        """Make a user a member of the plant, even if the user is not active. Do nothing if the user is a member already.

        Raises NotFound if there is no such plant or user. Raises Invalid if the limits are refused.
        """
        stored = await self._get_stored(plant_id)
        await self.get_user(user_id)
        limits = check_limits(limits, stored.topology, self._clock.now())
        if await self._store.allow_user(plant_id, user_id, limits):
            self._note_allowed(plant_id, user_id, limits, by)

    async def set_limits(self, plant_id: Id, user_id: Id, limits: Limits | None, *, by: Actor = COMMAND_LINE) -> None:
        """Replace the limits of a member. None removes the limits. The change takes effect with the next request.

        In three cases the member can no longer get the events from before this change: the new limits name other floors,
        ambients or modules than the old limits, the new period begins earlier, or the old period has already ended.

        Raises NotFound if there is no such plant or member, and Invalid if the limits are refused. Raises Conflict if the user
        owns the plant.
        """
        stored = await self._get_stored(plant_id)
        if user_id == stored.plant.owner.user_id:
            raise Conflict(f"{stored.plant.owner.email} owns the plant and cannot have limits.", Reason.OWNER_HAS_NO_LIMITS)
        member = stored.plant.find_member(user_id)
        before = None if member is None else member.limits
        limits = check_limits(limits, stored.topology, self._clock.now(), before)
        if not await self._store.set_member_limits(plant_id, user_id, limits):
            raise NotFound("The user is not a member of this plant.")
        if before != limits:
            self._note_allowed(plant_id, user_id, limits, by)

    async def set_invitation_limits(self, plant_id: Id, email: str, limits: Limits | None, *, by: Actor = COMMAND_LINE) -> None:
        """Replace the limits of an open invitation. None removes the limits.

        Raises NotFound if there is no such plant or invitation. Raises Invalid if the limits are refused.
        """
        stored = await self._get_stored(plant_id)
        key = email_key(email)
        invitation = next((one for one in stored.plant.invited if email_key(one.email) == key), None)
        before = None if invitation is None else invitation.limits
        limits = check_limits(limits, stored.topology, self._clock.now(), before)
        if not await self._store.set_invitation_limits(plant_id, email, limits):
            raise NotFound(f"{email} has no open invitation to this plant.")
        if before != limits:
            limited = yes_or_no(limits is not None)
            self.note(AuditAction.ALLOWED, by, plant_ref(plant_id), invitation="yes", limits=limited)

    async def limit(self, plant_id: Id, email: str, limits: Limits | None, *, by: Actor = COMMAND_LINE) -> None:
        """Replace the limits of the membership or the invitation of this e-mail address. Raises NotFound, Conflict, Invalid."""
        member = _find_member(await self.get_plant(plant_id), email)
        if member is not None:
            await self.set_limits(plant_id, member.user_id, limits, by=by)
        else:
            await self.set_invitation_limits(plant_id, email, limits, by=by)

    def _note_allowed(self, plant_id: Id, user_id: Id, limits: Limits | None, by: Actor) -> None:
        self.note(AuditAction.ALLOWED, by, plant_ref(plant_id), user=user_ref(user_id), limits=yes_or_no(limits is not None))

    async def withdraw_user(self, plant_id: Id, user_id: Id, *, by: Actor = COMMAND_LINE) -> None:
        """Remove the user's rights on the plant. The removal takes effect with the next request.

        Raises NotFound if there is no such plant or member. Raises Conflict if the user owns the plant.
        """
        plant = await self.get_plant(plant_id)
        if user_id == plant.owner.user_id:
            raise Conflict(
                f"{plant.owner.email} owns the plant and cannot be withdrawn. Remove the plant instead.", Reason.OWNER_STAYS
            )
        if not await self._store.withdraw_user(plant_id, user_id):
            raise NotFound("The user is not a member of this plant.")
        action = AuditAction.LEFT if by.user_id == user_id else AuditAction.WITHDRAWN
        self.note(action, by, plant_ref(plant_id), user=user_ref(user_id))

    async def withdraw(self, plant_id: Id, email: str, *, by: Actor = COMMAND_LINE) -> None:
        """Withdraw the membership or the invitation of this e-mail address. Raises NotFound, Conflict."""
        member = _find_member(await self.get_plant(plant_id), email)
        if member is not None:
            await self.withdraw_user(plant_id, member.user_id, by=by)
        else:
            await self.withdraw_invitation(plant_id, email, by=by)

    async def invite_by_owner(
        self, plant_id: Id, email: str, limits: Limits | None, *, mails_links: bool, address: str = "", user_id: Id
    ) -> InvitedAs:
        """Invite a person. The link for a new account is sent only to the invited address, never to the owner (Decision 0059).

        If `mails_links` is False, no link is made, and an operator has to give the person a link. Raises NotFound,
        Forbidden, TooOften, Invalid, Conflict, MailFailed.
        """
        await self._check_invitation(plant_id, user_id)
        by = Actor(user_id, address)
        return (await self.invite(plant_id, email, limits=limits, link=mails_links, by=by)).outcome

    async def limit_by_owner(self, plant_id: Id, email: str, limits: Limits | None, *, address: str = "", user_id: Id) -> None:
        """Change the limits of an allowed user or of an invitation, for the owner `user_id`.

        Raises Forbidden (`user_id` is not the owner), TooOften, Invalid, NotFound, Conflict.
        """
        await self._check_owner(plant_id, user_id)
        self._check_rate(self._change_limiter, user_id)
        self._change_limiter.count(user_id, self._clock.now())
        await self.limit(plant_id, email, limits, by=Actor(user_id, address))

    async def withdraw_by_owner(self, plant_id: Id, email: str, *, address: str = "", user_id: Id) -> None:
        """End the membership of an allowed user, or withdraw an invitation. Raises Forbidden, NotFound, Conflict."""
        await self._check_owner(plant_id, user_id)
        await self.withdraw(plant_id, email, by=Actor(user_id, address))

    async def leave_plant(self, plant_id: Id, user_id: Id, *, address: str = "") -> None:
        """End the membership of an allowed user. Raises NotFound if the user is not a member, and Conflict for the owner."""
        await self.withdraw_user(plant_id, user_id, by=Actor(user_id, address))

    async def remove_plant(self, plant_id: Id, *, by: Actor = COMMAND_LINE) -> None:
        """Mark the plant as removed. `by` must be the owner of the plant, an operator or the command line.

        For some time (the setting `removed_plants_kept_days`), E6 lists the plant as removed. Other operations hide it
        (Decision 0009). Raises NotFound, Forbidden, and Conflict if the plant is removed already.
        """
        await self._set_status(plant_id, PlantStatus.REMOVED, by)

    async def restore_plant(self, plant_id: Id, *, by: Actor = COMMAND_LINE) -> None:
        """Make a removed plant active again. `by` must be the owner of the plant, an operator or the command line.

        Everything in the plant is as it was before the removal. But webhooks that the removal ended stay ended. Raises
        NotFound, Forbidden, and Conflict if the plant is active.
        """
        await self._set_status(plant_id, PlantStatus.ACTIVE, by)

    async def _set_status(self, plant_id: Id, status: PlantStatus, by: Actor) -> None:
        plant = await self.get_plant(plant_id)
        if by.user_id is not None and not may_remove(await self._store.find_user(by.user_id), plant):
            raise Forbidden("Only the plant's owner or an operator may do this.")
        if plant.status is status:
            raise Conflict(f"{plant.name} is {status} already.")
        await self._store.set_plant_status(plant_id, status, self._clock.now())
        self.note(AuditAction.PLANT_CHANGED, by, plant_ref(plant_id), status=status)


def _find_member(plant: Plant, email: str) -> Member | None:
    """Return the owner or the allowed user with this e-mail. Return None if there is no such member."""
    key = email_key(email)
    return next((member for member in (plant.owner, *plant.allowed) if email_key(member.email) == key), None)
