"""Links with which a person joins a plant (Decision 0100)."""

from enum import StrEnum

import msgspec

from domogate.domain.ids import Id
from domogate.domain.limits import Limits


class InvitationLink(msgspec.Struct, frozen=True):
    """A link that makes one person a member of a plant. Only the hash of its token is stored.

    The link works only while the user who made it owns the plant.
    """

    id: Id
    token_hash: str
    plant_id: Id
    user_id: Id
    """The owner who made the link."""
    note: str
    """The text by which the owner recognises the link, for example the name of the invited person."""
    created_at: float
    expires_at: float
    limits: Limits | None = None
    """The limits that the membership will have."""


class JoinOutcome(StrEnum):
    JOINED = "joined"
    """The person is a member now, and the link is used."""
    DEAD_LINK = "dead link"
    """The link does not exist, was used or withdrawn, or has expired. Or its plant was removed or has another owner."""
    HAS_ACCESS = "has access"
    """The person is a member already, and the period of the membership has not ended. The link stays valid."""
    NAME_TAKEN = "name taken"
    """Another account has the login name that the person chose. The link stays valid."""
