"""Operations on the subscription keys of the developer."""

from typing import Annotated

from msgspec import Meta

from domogate.developer.services import DeveloperCall, DeveloperServices, actor_of
from domogate.http_api.operations import OperationTable
from domogate.http_api.paging import Listing
from domogate.services.developer.self_service import OwnKey
from domogate.wire import InputModel, OutputModel
from domogate.wire.keys import KeyOut

OPERATIONS = OperationTable("keys")


class OwnKeyOut(KeyOut, frozen=True):
    """A key without its text. `hint` is the beginning of the key. `usedToday` is the number of requests today (UTC).

    `revokedAt` is the time at which an operator revoked the key.
    """


class NewKey(InputModel, frozen=True):
    name: Annotated[str, Meta(min_length=1)]


class CreatedKeyOut(OutputModel, frozen=True):
    """A new key, which is shown only in this answer."""

    subscription: OwnKeyOut
    key: str


def _key_out(own: OwnKey) -> OwnKeyOut:
    return OwnKeyOut.of(own.subscription, used_today=own.used_today)


@OPERATIONS.add("GET /keys", "The subscription keys of the person with their usage; the oldest is first")
async def list_keys(services: DeveloperServices, call: DeveloperCall) -> Listing[OwnKeyOut]:
    return Listing([_key_out(own) for own in await services.self_service.list_keys(call.caller.user_id)])


@OPERATIONS.add("POST /keys", "Issue a subscription key; it is shown only once", status=201, errors=(409, 422))
async def create_key(services: DeveloperServices, call: DeveloperCall, body: NewKey) -> CreatedKeyOut:
    key, own = await services.self_service.add_key(body.name, by=actor_of(call))
    return CreatedKeyOut(_key_out(own), key)


@OPERATIONS.add("DELETE /keys/{keyId}", "Revoke a key of the person; the next request with it is refused")
async def revoke_key(services: DeveloperServices, call: DeveloperCall) -> None:
    await services.self_service.revoke_key(call.id_of("keyId"), by=actor_of(call))
