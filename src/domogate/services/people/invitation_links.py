"""Makes and uses links with which an owner invites a person, without knowing the person's e-mail address (Decision 0100)."""

from collections.abc import Sequence

import msgspec

from domogate.common.secrets import hash_secret, new_secret
from domogate.domain.ids import Id, new_id
from domogate.domain.invitation_links import InvitationLink, JoinOutcome
from domogate.domain.limits import Limits
from domogate.domain.login_names import email_of_login_name
from domogate.domain.people import User
from domogate.ports import StoredPlant
from domogate.services.audit import AuditAction, user_ref
from domogate.services.people.actors import Actor, yes_or_no
from domogate.services.people.guests import check_limits
from domogate.services.people.owners import OwnerChecks, plant_ref
from domogate.services.people.rules import check_login_name, check_name, check_password
from domogate.services.refusals import Conflict, Forbidden, NotFound, Reason

INVITATION_LINK_PATH = "/auth/invitation?token="
"""The path of an invitation link. The token is appended."""
INVITATION_LINK_LIFETIME = 7 * 86_400.0
MOST_INVITATION_LINKS = 20
"""The largest number of valid invitation links that a plant can have at the same time."""


class OpenedInvitation(msgspec.Struct, frozen=True):
    """The data that the page of an invitation link shows."""

    link: InvitationLink
    home: StoredPlant
    owner: User


class InvitationLinks(OwnerChecks):
    """Makes, lists and withdraws invitation links, and makes people members with them."""

    async def make_invitation_link(
        self, plant_id: Id, note: str, limits: Limits | None, *, address: str = "", user_id: Id
    ) -> tuple[InvitationLink, str]:
        """Make an invitation link. Return the link and its URL, which cannot be shown again.

        Raises NotFound, Forbidden, TooOften, Invalid.
        """
        check_name(note)
        stored = await self._check_invitation(plant_id, user_id)
        now, token = self._clock.now(), new_secret()
        limits = check_limits(limits, stored.topology, now)
        expires_at = now + INVITATION_LINK_LIFETIME
        if limits is not None and limits.valid_until is not None:
            expires_at = min(expires_at, limits.valid_until)
        link = InvitationLink(new_id(), hash_secret(token), plant_id, user_id, note, now, expires_at, limits)
        if not await self._store.add_invitation_link(link, MOST_INVITATION_LINKS):
            raise Forbidden(
                f"A plant can have at most {MOST_INVITATION_LINKS} open invitation links; withdraw some first.",
                Reason.TOO_MANY_LINKS,
            )
        limited = yes_or_no(limits is not None)
        self.note(AuditAction.INVITED, Actor(user_id, address), plant_ref(plant_id), link=link.id, limits=limited)
        return link, f"{self.links.base_url}{INVITATION_LINK_PATH}{token}"

    async def list_own_invitation_links(self, plant_id: Id, *, user_id: Id) -> Sequence[InvitationLink]:
        """Return the plant's usable links, newest first.

        Raises NotFound if there is no plant with this id. Raises Forbidden if the user does not own the plant.
        """
        await self._check_owner(plant_id, user_id)
        return await self.list_invitation_links(plant_id)

    async def list_invitation_links(self, plant_id: Id) -> Sequence[InvitationLink]:
        """Return the plant's usable links, newest first. Raises NotFound if there is no plant with this id."""
        await self._get_stored(plant_id)
        return await self._store.list_invitation_links(plant_id, self._clock.now())

    async def withdraw_own_invitation_link(self, plant_id: Id, link_id: Id, *, address: str = "", user_id: Id) -> None:
        """Withdraw an invitation link of a plant, at the request of the plant's owner.

        Raises NotFound if there is no such plant or link. Raises Forbidden if the user is not the owner of the plant.
        """
        await self._check_owner(plant_id, user_id)
        await self.withdraw_invitation_link(plant_id, link_id, by=Actor(user_id, address))

    async def withdraw_invitation_link(self, plant_id: Id, link_id: Id, *, by: Actor) -> None:
        """Withdraw an invitation link. Raises NotFound if the plant has no such link."""
        if not await self._store.withdraw_invitation_link(plant_id, link_id):
            raise NotFound("This invitation link was used or withdrawn, or is too old.")
        self.note(AuditAction.WITHDRAWN, by, plant_ref(plant_id), link=link_id)

    async def open_invitation(self, token: str) -> OpenedInvitation | None:
        """Return the link with its home, or None if the link does not work. This does not consume the link."""
        link = await self._store.find_invitation_link(hash_secret(token), self._clock.now())
        if link is None:
            return None
        home, owner = await self._store.find_plant(link.plant_id), await self._store.find_user(link.user_id)
        return None if home is None or owner is None else OpenedInvitation(link, home, owner)

    async def accept_invitation(self, token: str, user_id: Id, *, address: str = "") -> InvitationLink:
        """Make an existing user a member, and consume the link.

        Raises NotFound if the link does not work or the account was deleted. Raises Conflict if the user already has access.
        """
        link = await self._get_invitation_link(token)
        await self._join(link, user_id, address)
        return link

    async def create_invited_user(self, token: str, login_name: str, name: str, password: str, *, address: str = "") -> User:
        """Create an account with a login name, make its user a member of the plant, and consume the link.

        If a value is refused, the link stays valid. Raises NotFound if the link does not work, and Invalid if a value is not
        allowed. Raises Conflict if another account has this login name.
        """
        email = email_of_login_name(check_login_name(login_name))
        check_password(password, email)
        check_name(name)
        link = await self._get_invitation_link(token)
        user = User(new_id(), email, name, await self._hasher.hash_password(password))
        await self._join(link, user, address)
        return user

    async def _get_invitation_link(self, token: str) -> InvitationLink:
        link = await self._store.find_invitation_link(hash_secret(token), self._clock.now())
        if link is None:
            raise NotFound(_DEAD)
        return link

    async def _join(self, link: InvitationLink, person: User | Id, address: str) -> None:
        try:
            outcome = await self._store.join_by_link(link.token_hash, person, self._clock.now())
        except ValueError as error:
            raise NotFound("The account was deleted.") from error
        if outcome is JoinOutcome.DEAD_LINK:
            raise NotFound(_DEAD)
        if outcome is JoinOutcome.HAS_ACCESS:
            raise Conflict("This person already has access to the home.", Reason.HAS_ACCESS)
        if outcome is JoinOutcome.NAME_TAKEN:
            raise Conflict("Another account has this login name. Choose another one.", Reason.USER_EXISTS)
        user_id = person.id if isinstance(person, User) else person
        by, limited = Actor(user_id, address), yes_or_no(link.limits is not None)
        if isinstance(person, User):
            self.note(AuditAction.USER_ADDED, by, user_ref(user_id), link=link.id)
        self.note(AuditAction.ALLOWED, by, plant_ref(link.plant_id), user=user_ref(user_id), link=link.id, limits=limited)


_DEAD = "This link was used or withdrawn, or is too old. Ask the owner of the home for a new one."
