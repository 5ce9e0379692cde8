"""What families print alike of plants: people in the detailed lists (Spec 2.1, 2.2), and the short list whole (Spec 2.3)."""

from collections.abc import Callable, Sequence
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from domogate.domain.plants import Plant
from domogate.families._call import Call, Services
from domogate.families._wire import Answer, Uuid, kept_answer, nothing_found

ShortText = Annotated[str, Meta(max_length=50)]
LongText = Annotated[str, Meta(max_length=500)]
Digits = Annotated[str, Meta(max_length=20, pattern="^[0-9]*$")]


class AllowedUser(msgspec.Struct):
    id: str
    email: str


class InvitedUser(msgspec.Struct):
    email: str


class PlantSummary(msgspec.Struct):
    """Spec 2.3."""

    id: Uuid
    name: str
    type: str


class Plants(msgspec.Struct):
    plants: list[PlantSummary]


async def answer_plants(
    services: Services,
    call: Call,
    kept_as: str,
    to_wire: Callable[[Sequence[Plant]], object],
    *,
    wanted: Callable[[Plant], bool] = lambda _: True,
) -> Answer:
    """Those active plants of the person that are wanted, if there are any; its bytes are kept under `kept_as`."""
    person = await services.read_model.get_person(call.principal.user_id)
    plants = [plant for plant in person.active_plants() if wanted(plant)]
    return kept_answer(person.encodings, kept_as, lambda: to_wire(plants)) if plants else nothing_found()


async def list_summaries(services: Services, call: Call) -> Answer:
    def to_wire(plants: Sequence[Plant]) -> Plants:
        return Plants([PlantSummary(plant.id, plant.name, plant.type) for plant in plants])

    return await answer_plants(services, call, "summaries", to_wire)


def allowed_to_wire(plant: Plant) -> list[AllowedUser]:
    return [AllowedUser(member.user_id, member.email) for member in plant.allowed]


def invited_to_wire(plant: Plant) -> list[InvitedUser]:
    return [InvitedUser(invitation.email) for invitation in plant.invited]


def digits_to_wire(zip_code: str | None) -> str | UnsetType:
    """A postal code is kept as people write it, and left out where the contract wants digits only (Decision 0020)."""
    if zip_code is None or not all("0" <= character <= "9" for character in zip_code):
        return UNSET
    return zip_code
