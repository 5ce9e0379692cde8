"""Plants as several families show them.

This module has the people of a plant (Spec 2.1, 2.2) and the short list (Spec 2.3). It also declares the operations that list
plants and show a topology.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from domogate.common.http_messages import Answer
from domogate.domain.people import Scope
from domogate.domain.plants import Plant
from domogate.families._call import Call, ReadServices
from domogate.families._family import Handler, Operation, any_of
from domogate.families._wire import Uuid, cached_answer, nothing_found
from domogate.services.rights.access import list_own_plants

ShortText = Annotated[str, Meta(max_length=50)]
LongText = Annotated[str, Meta(max_length=500)]
Digits = Annotated[str, Meta(max_length=20, pattern="^[0-9]*$")]


class AllowedUser(msgspec.Struct):
    id: str
    email: str


class InvitedUser(msgspec.Struct):
    email: str


class PlantSummary(msgspec.Struct):
    """A plant in the short list (Spec 2.3)."""

    id: Uuid
    name: str
    type: str


class Plants(msgspec.Struct):
    plants: list[PlantSummary]


def _cached_operation(
    id: str, handler: Handler, answer: Any, errors: frozenset[int], *, scope: Scope = Scope.TOPOLOGY_READ, **options: Any
) -> Operation:
    """Declare an operation whose answer has an ETag. `options` are other fields of Operation."""
    return Operation(id=id, handler=handler, answer=answer, errors=errors, scopes=any_of(scope), has_etag=True, **options)


plants_operation = partial(_cached_operation, summary="Get plants", path="plants", may_be_empty=True)
"""Declare an operation that lists the plants of the user."""
topology_operation = partial(_cached_operation, summary="Get plant topology", path="plants/{plantId:plant}/topology")
"""Declare an operation that shows the topology of a plant."""


async def answer_plants(
    services: ReadServices,
    call: Call,
    cache_key: str,
    to_wire: Callable[[Sequence[Plant]], object],
    *,
    is_listed: Callable[[Plant], bool] = lambda _: True,
) -> Answer:
    """List the active plants of the user for which `is_listed` returns True. Answer 204 if there is no such plant.

    The encoded list is cached under `cache_key`.
    """
    person = await services.read_model.get_person(call.principal.user_id)
    own = list_own_plants(person.plants, call.principal.user_id, call.principal.plants, services.clock.now())
    plants = [plant for plant in own.plants if is_listed(plant)]
    if not plants:
        return nothing_found()
    return cached_answer(person.encodings, f"{cache_key} {own.left_out}", lambda: to_wire(plants))


async def list_plants(services: ReadServices, call: Call) -> Answer:
    def to_wire(plants: Sequence[Plant]) -> Plants:
        return Plants([PlantSummary(plant.id, plant.name, plant.type) for plant in plants])

    return await answer_plants(services, call, "summaries", to_wire)


def allowed_to_wire(plant: Plant) -> list[AllowedUser]:
    return [AllowedUser(member.user_id, member.email) for member in plant.allowed]


def invited_to_wire(plant: Plant) -> list[InvitedUser]:
    return [InvitedUser(invitation.email) for invitation in plant.invited]


def digits_to_wire(zip_code: str | None) -> str | UnsetType:
    """Return the postal code if it has only digits. Otherwise return UNSET, so that the answer has no postal code.

    Used by the families for which the contract allows only digits (Decision 0020).
    """
    if zip_code is None or not all("0" <= character <= "9" for character in zip_code):
        return UNSET
    return zip_code
