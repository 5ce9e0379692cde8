"""Operations on receivers for testing webhooks."""

from datetime import datetime

from domogate.developer.services import DeveloperCall, DeveloperServices
from domogate.http_api.operations import OperationTable
from domogate.services.developer.receivers import Receiver
from domogate.wire import OutputModel

OPERATIONS = OperationTable("receivers")


class ReceivedDeliveryOut(OutputModel, frozen=True):
    """A delivery as the receiver got it. `whole` is false if only the beginning of the body was stored."""

    at: datetime
    headers: dict[str, str]
    body: str
    whole: bool


class ReceiverOut(OutputModel, frozen=True):
    """A receiver with which a person tests webhooks. Register a webhook with its `url`. The newest delivery is first."""

    id: str
    url: str
    expires_at: datetime
    deliveries: list[ReceivedDeliveryOut]


def _receiver_out(receiver: Receiver) -> ReceiverOut:
    return ReceiverOut.of(receiver, deliveries=[ReceivedDeliveryOut.of(one) for one in receiver.deliveries])


@OPERATIONS.add("POST /receivers", "Make a receiver for webhooks; it ends after ten minutes", status=201, errors=(409,))
async def create_receiver(services: DeveloperServices, call: DeveloperCall) -> ReceiverOut:
    return _receiver_out(services.receivers.open(call.caller.user_id))


@OPERATIONS.add("GET /receivers/{receiverId}", "One receiver and its deliveries")
async def get_receiver(services: DeveloperServices, call: DeveloperCall) -> ReceiverOut:
    return _receiver_out(services.receivers.get(call.caller.user_id, call.id_of("receiverId")))


@OPERATIONS.add("DELETE /receivers/{receiverId}", "End a receiver and forget its deliveries")
async def close_receiver(services: DeveloperServices, call: DeveloperCall) -> None:
    services.receivers.close(call.caller.user_id, call.id_of("receiverId"))
