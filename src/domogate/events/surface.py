"""GET /events: the event stream for one application and one user."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta
from starlette.responses import Response

from domogate.domain.ids import DASHED_UUID
from domogate.domain.notices import NoticeKind
from domogate.http_api.credentials import KeyAndToken
from domogate.http_api.event_stream import LAST_EVENT_ID, MEDIA_TYPE, UNAVAILABLE, answer_stream
from domogate.http_api.operations import Call, OperationTable, Surface
from domogate.http_api.requests import read_id
from domogate.services.events.cloud_events import ModuleData, PlantData
from domogate.services.events.endings import MEANING_OF, End
from domogate.services.events.filters import EventFilter, scopes_for
from domogate.services.events.frames import Ready, Reset
from domogate.services.events.hub import Hub
from domogate.services.rights.access import Caller
from domogate.wire.openapi import Schemas

OPERATIONS = OperationTable()

_STREAM = """Server-sent events. `data` is one line of JSON.

| `event` | `id` | `data` |
|---|---|---|
| `ready` | cursor | Ready: the events after it are new |
| `state`, `reachability`, `safety` | cursor | CloudEvent about a module |
| `plant`, `people` | cursor | CloudEvent about a plant |
| `present` | none | CloudEvent about a module: its present state |
| `reset` | none | Reset: missed events are not available; the present states follow |
| `end` | none | End: why the stream ends |

| `code` of `end` | meaning |
|---|---|
""" + "".join(f"| `{code}` | {meaning} |\n" for code, meaning in MEANING_OF.items())

PlantId = Annotated[str, Meta(pattern=DASHED_UUID.pattern)]


class EventQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    plant: Annotated[tuple[PlantId, ...], Meta(description="Only these plants; without it: all plants of the user.")] = ()
    kind: Annotated[tuple[NoticeKind, ...], Meta(description="Only these kinds; without it: every kind.")] = ()
    present: Annotated[bool, Meta(description="Begin with the present state of every module.")] = False
    last_event_id: (
        Annotated[str, Meta(max_length=100, description="As the header Last-Event-ID, for clients that cannot send headers.")]
        | None
    ) = None

    def to_filter(self) -> EventFilter:
        plants = frozenset(read_id("query", "plant", text) for text in self.plant)
        return EventFilter(plants, frozenset(self.kind), self.present)


@OPERATIONS.add(
    "GET",
    "Listen to changes",
    label="events",
    header=LAST_EVENT_ID,
    media_types=(MEDIA_TYPE,),
    success=_STREAM,
    errors={
        403: "The user has no rights on a plant",
        404: "There is no such plant",
        429: "The key's rate or quota is used up, or the user or the key has too many open streams; see Retry-After",
        503: UNAVAILABLE,
    },
)
async def listen(hub: Hub, call: Call[Caller], query: EventQuery) -> Response:
    # The header has priority over the query: a browser that connects again sends a new header with the same URL.
    last_event_id = call.header or query.last_event_id or ""
    return await answer_stream(hub.open(call.caller, query.to_filter(), last_event_id.encode().strip()))


def _describe_events(document: dict[str, Any]) -> None:
    """Add the schemas of events to the OpenAPI document, because OpenAPI can describe a stream only as text."""
    schemas = Schemas([ModuleData, PlantData, Ready, Reset, End])
    text = {"type": "string"}
    properties = {
        "specversion": {"const": "1.0"},
        "id": text,
        "source": {"type": "string", "format": "uri"},
        "type": {"enum": [f"domogate.{kind}" for kind in (*NoticeKind, "present")]},
        "subject": text,
        "time": {"type": "string", "format": "date-time"},
        "datacontenttype": {"const": "application/json"},
        "data": {"anyOf": [schemas.of(ModuleData), schemas.of(PlantData)]},
    }
    cloud_event = {"type": "object", "properties": properties, "required": list(properties)}
    document["components"]["schemas"] |= schemas.components | {"CloudEvent": cloud_event}


SURFACE = Surface(
    name="events",
    prefix="/events",
    description="Every committed change of states, reachability, safety, plants and people, as server-sent events. "
    "A request needs a subscription key, and an access token or an id token. The stream sends an event only if "
    "the user and the scopes of the token may see it at this moment. "
    f"The token needs at least one of the scopes {', '.join(sorted(scopes_for(())))}.",
    operations=OPERATIONS,
    credentials=KeyAndToken,
    serves_head=True,
    amend=_describe_events,
)
