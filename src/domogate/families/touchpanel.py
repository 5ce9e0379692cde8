"""Touch panel (deprecated): plants, and a ticket that switches a camera on (E14, E15, Spec 2.3, 2.11)."""

from typing import Literal

import msgspec

from domogate.common.http_messages import Answer
from domogate.domain.devices import DeviceKind
from domogate.domain.people import Scope
from domogate.families._call import Call, Services
from domogate.families._family import DEPRECATED, Family, Operation, any_of
from domogate.families._plants import Plants, list_plants, plants_operation
from domogate.families._wire import Uuid, json_answer
from domogate.services.audit import AuditAction, note_done
from domogate.services.tickets.permits import TicketAction


class SenderPlant(msgspec.Struct):
    id: Uuid


class CameraSender(msgspec.Struct, rename="camel"):
    address_type: Literal["addressLocation"]
    system: Literal["videodoorentry"]
    plant: SenderPlant


class AudiovideoUnit(msgspec.Struct):
    ticket: str
    sender: CameraSender


class CameraTicket(msgspec.Struct):
    """The body of the answer to E15: a ticket that switches on a camera."""

    audiovideounits: list[AudiovideoUnit]


async def switch_on_camera(services: Services, call: Call) -> Answer:
    """Issue a ticket that switches on the camera. Raises DeviceOffline or DeviceTimeout if the camera cannot be reached now."""
    await services.control.check_reachable(call.module)
    plant_id = call.plant.plant.id
    ticket = await services.tickets.mint_ticket(call.principal, plant_id, call.module.module.id, TicketAction.VIDEO_OUT)
    note_done(services.audit, call, AuditAction.TICKET_ISSUED, f"E15 videoOut module:{call.module.module.id}")
    sender = CameraSender("addressLocation", "videodoorentry", SenderPlant(plant_id))
    return json_answer(CameraTicket([AudiovideoUnit(ticket, sender)]))


FAMILY = Family(
    name="touch panel",
    slug="touchpanel",
    prefix="/touchpanel/v1.0",
    lifecycle=DEPRECATED,
    operations=(
        plants_operation("E14", list_plants, Plants, frozenset({400, 401, 404, 408, 469, 470, 500})),
        Operation(
            id="E15",
            summary="Switch on camera",
            path=(
                "audiovideounit/videodoorentry/addressLocation/plants/{plantId:plant}"
                "/modules/parameter/id/value/{deviceId:module}/videoOut"
            ),
            handler=switch_on_camera,
            scopes=any_of(Scope.AUDIOVIDEO_READ),
            kinds=frozenset({DeviceKind.AUDIOVIDEO_UNIT}),
            answer=CameraTicket,
            errors=frozenset({400, 401, 404, 408, 500}),
        ),
    ),
)
