"""Door entry B: plants of the user, and a ticket that opens a lock (E10, E11, Spec 2.1, 2.11)."""

import re
from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from domogate.common.http_messages import Answer
from domogate.domain.devices import DeviceKind
from domogate.domain.people import Scope
from domogate.domain.plants import Plant, PlantType
from domogate.families._call import Call, ReadServices, Services
from domogate.families._family import DEPRECATED, Family, Operation, any_of
from domogate.families._plants import (
    AllowedUser,
    Digits,
    InvitedUser,
    LongText,
    ShortText,
    allowed_to_wire,
    answer_plants,
    digits_to_wire,
    invited_to_wire,
    plants_operation,
)
from domogate.families._wire import Uuid, json_answer
from domogate.services.audit import AuditAction, note_done
from domogate.services.tickets.permits import TicketAction

WireType = Literal["hotel", "house", "office", "hospital"]

_TYPES: dict[PlantType, WireType] = {
    PlantType.HOTEL: "hotel",
    PlantType.HOUSE: "house",
    PlantType.OFFICE: "office",
    PlantType.HOSPITAL: "hospital",
}

# "Only word characters, whitespace and the characters : . , _ -" (Spec 2.1). Letters of every language are word characters.
_FORBIDDEN = re.compile(r"[^\w\s:.,-]")


class WirePlant(msgspec.Struct, rename="camel", omit_defaults=True):
    """A plant in the answer to E10 (Spec 2.1)."""

    id: str
    owner_id: str
    owner_email: str
    name: ShortText
    type: WireType
    status: Literal["active"]
    allowed_users: list[AllowedUser]
    invited_users: list[InvitedUser]
    country: ShortText | UnsetType = UNSET
    zip_code: Digits | UnsetType = UNSET
    address: LongText | UnsetType = UNSET


class SenderPlant(msgspec.Struct):
    id: Uuid


class LockSender(msgspec.Struct, rename="camel"):
    address_type: Literal["addressLocation"]
    system: Literal["automation"]
    plant: SenderPlant


class Lock(msgspec.Struct):
    ticket: str
    sender: LockSender


class LockTicket(msgspec.Struct):
    """The body of the answer to E11: a ticket that opens a lock."""

    locks: list[Lock]


async def list_plants(services: ReadServices, call: Call) -> Answer:
    return await answer_plants(services, call, "E10", lambda plants: [_plant_to_wire(plant) for plant in plants])


async def open_lock(services: Services, call: Call) -> Answer:
    """Issue a ticket that opens the lock. Raises DeviceOffline or DeviceTimeout if the lock cannot be reached now."""
    await services.control.check_reachable(call.module)
    plant_id = call.plant.plant.id
    ticket = await services.tickets.mint_ticket(call.principal, plant_id, call.module.module.id, TicketAction.OPEN)
    note_done(services.audit, call, AuditAction.TICKET_ISSUED, f"E11 open module:{call.module.module.id}")
    return json_answer(LockTicket([Lock(ticket, LockSender("addressLocation", "automation", SenderPlant(plant_id)))]))


def _plant_to_wire(plant: Plant) -> WirePlant:
    """Return the JSON model of a plant.

    If a text has characters that this family does not allow, they are replaced by spaces (Decision 0020).
    """
    return WirePlant(
        id=plant.id,
        owner_id=plant.owner.user_id,
        owner_email=plant.owner.email,
        name=_replace_forbidden(plant.name),
        type=_TYPES[plant.type],
        status="active",
        country=UNSET if plant.country is None else _replace_forbidden(plant.country),
        zip_code=digits_to_wire(plant.zip_code),
        address=UNSET if plant.address is None else _replace_forbidden(plant.address),
        allowed_users=allowed_to_wire(plant),
        invited_users=invited_to_wire(plant),
    )


def _replace_forbidden(text: str) -> str:
    return _FORBIDDEN.sub(" ", text)


FAMILY = Family(
    name="door entry B",
    slug="doorentry-b",
    prefix="/doorentry-b/v1.0",
    operations=(
        plants_operation("E10", list_plants, list[WirePlant], frozenset({400, 401, 404}), summary="Get plants of the user"),
        Operation(
            id="E11",
            summary="Open lock",
            path="lock/automation/addressLocation/plants/{plantId:plant}/modules/parameter/id/value/{deviceId:module}/ticket",
            handler=open_lock,
            scopes=any_of(Scope.AUDIOVIDEO_READ),
            kinds=frozenset({DeviceKind.LOCK}),
            answer=LockTicket,
            errors=frozenset({400, 401, 404, 408}),
            lifecycle=DEPRECATED,
        ),
    ),
)
