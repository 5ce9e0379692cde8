"""Echo (demonstration): sends a JSON object to the echo backend as XML (E20)."""

import msgspec
from msgspec import UNSET, UnsetType

from domogate.common.http_messages import Answer
from domogate.families._call import Call, Services
from domogate.families._family import NO_SCOPE, POST, Family, Operation
from domogate.families._wire import document_answer
from domogate.families._xml import to_xml


class Resource(msgspec.Struct, rename="camel", omit_defaults=True, frozen=True):
    """The body of a request E20: any JSON object that can be written as XML. Only the four fields below have fixed types."""

    vehicle_type: str | UnsetType = UNSET
    max_speed: float | UnsetType = UNSET
    avg_speed: float | UnsetType = UNSET
    speed_unit: str | UnsetType = UNSET


async def create_resource(services: Services, call: Call) -> Answer:
    body, media_type = await services.echo.send(to_xml(call.document))
    return document_answer(body, media_type)


FAMILY = Family(
    name="echo",
    slug="echo",
    prefix="/echo",
    operations=(
        Operation(
            id="E20",
            summary="Create resource",
            method=POST,
            path="resource",
            handler=create_resource,
            scopes=NO_SCOPE,
            body=Resource,
            answer=bytes,
            errors=frozenset({400, 401, 502, 504}),
        ),
    ),
)
