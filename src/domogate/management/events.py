"""The operation that streams the events of all plants, as they happen."""

from typing import Annotated

import msgspec
from msgspec import Meta
from starlette.responses import Response

from domogate.domain.ids import Id
from domogate.domain.notices import NoticeKind
from domogate.http_api.event_stream import LAST_EVENT_ID, MEDIA_TYPE, UNAVAILABLE, answer_stream
from domogate.http_api.operations import OperationTable
from domogate.http_api.requests import read_optional_id
from domogate.management.services import ManagementServices, OperatorCall
from domogate.services.events.filters import EventFilter
from domogate.services.rights.access import may_manage

OPERATIONS = OperationTable("events")


class EventQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    plant_id: Annotated[str, Meta(description="Only events of this plant.")] | None = None
    kind: Annotated[tuple[NoticeKind, ...], Meta(description="Only these kinds; without it: every kind.")] = ()

    def to_filter(self) -> EventFilter:
        plant_id = read_optional_id("query", "plantId", self.plant_id)
        return EventFilter(frozenset(() if plant_id is None else (plant_id,)), frozenset(self.kind))


@OPERATIONS.add(
    "GET /events",
    "The events of all plants or of one plant as they happen, as server-sent events",
    header=LAST_EVENT_ID,
    media_types=(MEDIA_TYPE,),
    success="Server-sent events, in the form of the event stream of applications",
    errors={404: "There is no such plant", 429: "The operator has too many open streams; see Retry-After", 503: UNAVAILABLE},
)
async def listen(services: ManagementServices, call: OperatorCall, query: EventQuery) -> Response:
    async def is_operator(user_id: Id) -> bool:
        return may_manage(await services.store.find_user(user_id))

    last_event_id = (call.header or "").encode().strip()
    return await answer_stream(
        services.hub.open_for_operator(call.caller.caller, is_operator, query.to_filter(), last_event_id)
    )
