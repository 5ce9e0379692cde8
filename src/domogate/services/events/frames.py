"""Server-sent events as bytes (HTML Standard, 9.2): notices, and what a stream says of itself.

A JSON text has no line end in it, so each event's data is one line.
"""

from collections.abc import Collection, Iterable

import msgspec

from domogate.domain.events import StateChanged
from domogate.domain.ids import Id
from domogate.domain.notices import Notice, kinds_of_state
from domogate.services.events.cloud_events import CloudEvent, print_notice, show_module
from domogate.services.events.endings import End
from domogate.services.events.filters import EventFilter
from domogate.services.events.rights import READ_SCOPE
from domogate.services.plants.read_model import ModuleView, PlantView
from domogate.wire import moment

RETRY_AFTER = 2_000
"""Milliseconds after which a client that was cut off tries again."""
# No event of its own: some clients would hand on an empty one. It is a field of whichever comes first.
OPENING = b"retry: %d\n" % RETRY_AFTER
HEARTBEAT = b":\n\n"

_encode = msgspec.json.Encoder().encode


class Ready(msgspec.Struct, frozen=True):
    """From here on what is told is new. `cursor` is also the event's id."""

    cursor: int


class Reset(msgspec.Struct, frozen=True):
    """What was missed cannot be told: the present follows."""

    code: str
    detail: str


UNKNOWN_CURSOR = Reset("unknown", "Last-Event-ID names no event of this gateway; what everything is in now follows.")
TOO_OLD = Reset("too old", "What came after Last-Event-ID is not kept any more; what everything is in now follows.")


def frame(event: str, data: bytes, cursor: int | None = None) -> bytes:
    identity = b"" if cursor is None else b"id: %d\n" % cursor
    return b"%bevent: %b\ndata: %b\n\n" % (identity, event.encode(), data)


def print_ready(cursor: int) -> bytes:
    return frame("ready", _encode(Ready(cursor)), cursor)


def print_reset(reset: Reset) -> bytes:
    """Without an id: a client cut off before the present is complete must be told anew."""
    return frame("reset", _encode(reset))


def print_end(end: End) -> bytes:
    return frame("end", _encode(end))


def frame_notice(notice: Notice, plant: PlantView, source: str) -> bytes:
    return frame(notice.kinds[0], print_notice(notice, plant, source), notice.cursor)


def print_present(
    plant: PlantView,
    module_ids: Iterable[Id],
    event_filter: EventFilter,
    scopes: Collection[str],
    *,
    source: str,
    cursor: int,
    now: float,
) -> bytes:
    """What these modules are in now, of those that the wish and the scopes show. Without an id, as `reset`."""
    shown = []
    for module_id in module_ids:
        view = plant.modules.get(module_id)
        if view is None or READ_SCOPE.get(view.module.kind) not in scopes:
            continue
        state = _as_event(view)
        if event_filter.wants(kinds_of_state(state, view.module.kind)):
            event = CloudEvent(
                specversion="1.0",
                id=f"{cursor}/{module_id}",
                source=source,
                type="domogate.present",
                subject=f"plants/{view.plant_id}/modules/{module_id}",
                time=moment(now),
                datacontenttype="application/json",
                data=show_module(view.module, state),
            )
            shown.append(frame("present", _encode(event)))
    return b"".join(shown)


def _as_event(view: ModuleView) -> StateChanged:
    """As if it had just been reported; `turned`, because whether it can be reached is told as well."""
    return StateChanged(
        plant_id=view.plant_id,
        module_id=view.module.id,
        state=view.state,
        reachable=view.reachable,
        at=view.reported_at,
        absence=view.absence,
        turned=True,
    )
