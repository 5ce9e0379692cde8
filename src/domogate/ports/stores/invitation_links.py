"""The port for stored links with which a person joins a plant."""

from collections.abc import Sequence
from typing import Protocol

from domogate.domain.ids import Id
from domogate.domain.invitation_links import InvitationLink, JoinOutcome
from domogate.domain.people import User


class InvitationLinkStore(Protocol):
    """Stores invitation links. A link works until `expires_at`, if its plant is active and its maker still owns the plant."""

    async def add_invitation_link(self, link: InvitationLink, most: int) -> bool:
        """Add the link. `most` is the number of working links that a plant may have.

        Return False if the plant has this number already.
        """
        ...

    async def find_invitation_link(self, token_hash: str, now: float) -> InvitationLink | None:
        """Return the link, or None if it does not exist or does not work any more."""
        ...

    async def list_invitation_links(self, plant_id: Id, now: float) -> Sequence[InvitationLink]:
        """Return the working links of the plant. The newest link is first."""
        ...

    async def withdraw_invitation_link(self, plant_id: Id, link_id: Id) -> bool:
        """Delete the link. Return False if the plant has no such link."""
        ...

    async def join_by_link(self, token_hash: str, person: User | Id, now: float) -> JoinOutcome:
        """Consume the link and make the person a member of its plant, in one transaction.

        `person` is a new user, who is added, or the id of an existing user. If the person is a guest whose period has ended,
        the limits of the link replace the guest's limits. Exactly one of several concurrent callers gets JOINED. For every
        other outcome, nothing is changed. Raises ValueError, and changes nothing, if there is no user with the given id.
        """
        ...
