"""What the two detailed lists of plants print alike (Spec 2.1, 2.2)."""

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from domogate.domain.plants import Plant

ShortText = Annotated[str, Meta(max_length=50)]
LongText = Annotated[str, Meta(max_length=500)]
Digits = Annotated[str, Meta(max_length=20, pattern="^[0-9]*$")]


class AllowedUser(msgspec.Struct):
    id: str
    email: str


class InvitedUser(msgspec.Struct):
    email: str


def allowed_to_wire(plant: Plant) -> list[AllowedUser]:
    return [AllowedUser(member.user_id, member.email) for member in plant.allowed]


def invited_to_wire(plant: Plant) -> list[InvitedUser]:
    return [InvitedUser(invitation.email) for invitation in plant.invited]


def digits_to_wire(zip_code: str | None) -> str | UnsetType:
    """A postal code is kept as people write it, and left out where the contract wants digits only (Decision 0020)."""
    if zip_code is None or not all("0" <= character <= "9" for character in zip_code):
        return UNSET
    return zip_code
