"""Server-sent events as bytes (HTML Standard, 9.2): notices, and messages about the stream itself.

A JSON text contains no line end, so the data of each event is one line.
"""

from collections.abc import Iterable

import msgspec

from domogate.domain.events import StateChanged
from domogate.domain.ids import Id
from domogate.domain.notices import Notice, kinds_of_state
from domogate.services.events.cloud_events import encode_event, print_notice, show_module
from domogate.services.events.endings import End
from domogate.services.events.filters import EventFilter
from domogate.services.plants.read_model import ModuleView, PlantView
from domogate.services.rights.access import Access

RETRY_AFTER = 2_000
"""The number of milliseconds after which a client that lost its connection connects again."""
# With an empty line after `retry`, some clients would report an empty event. So `retry` is a field of the first event.
OPENING = b"retry: %d\n" % RETRY_AFTER
HEARTBEAT = b":\n\n"

_encode = msgspec.json.Encoder().encode


class Ready(msgspec.Struct, frozen=True):
    """The content of the event `ready`: all later events are about changes after `cursor`, which is also the id of `ready`."""

    cursor: int


class Reset(msgspec.Struct, frozen=True):
    """The content of the event `reset`: the missed events are not available, and the present states follow."""

    code: str
    detail: str


UNKNOWN_CURSOR = Reset("unknown", "Last-Event-ID is not an event of this gateway; the present states follow.")
TOO_OLD = Reset("too old", "The events after Last-Event-ID are not kept any more; the present states follow.")


def frame(event: str, data: bytes, cursor: int | None = None) -> bytes:
    identity = b"" if cursor is None else b"id: %d\n" % cursor
    return b"%bevent: %b\ndata: %b\n\n" % (identity, event.encode(), data)


def print_ready(cursor: int) -> bytes:
    return frame("ready", _encode(Ready(cursor)), cursor)


def print_reset(reset: Reset) -> bytes:
    """Print the event `reset`, which has no id.

    The present states that follow have no id either. If a client loses its connection before it has all of them, it sends its
    old `Last-Event-ID` again. So it gets `reset` and all present states again.
    """
    return frame("reset", _encode(reset))


def print_end(end: End) -> bytes:
    return frame("end", _encode(end))


def frame_notice(notice: Notice, plant: PlantView, source: str) -> bytes:
    return frame(notice.kinds[0], print_notice(notice, plant, source), notice.cursor)


def print_present(
    access: Access, module_ids: Iterable[Id], event_filter: EventFilter, *, source: str, cursor: int, now: float
) -> bytes:
    """Return the present states of the modules that the filter and the rights allow.

    Each state is printed as a server-sent event. Like the event `reset`, these server-sent events have no field `id`. The
    data of each of them is a CloudEvent. The `id` of this CloudEvent begins with `cursor`.
    """
    frames = []
    for module_id in module_ids:
        if not access.may_see(module_id):
            continue
        view = access.plant.modules[module_id]
        state = present_event(view)
        if event_filter.wants(kinds_of_state(state, view.module.kind)):
            event = encode_event(
                id=f"{cursor}/{module_id}",
                source=source,
                type="domogate.present",
                subject=f"plants/{view.plant_id}/modules/{module_id}",
                at=now,
                data=show_module(view.module, state),
            )
            frames.append(frame("present", event))
    return b"".join(frames)


def present_event(view: ModuleView) -> StateChanged:
    """Return the present state as an event.

    The field `turned` of the event is True, as if the module just became reachable or unreachable. So a client that asked only
    for changes of reachability also gets this event.
    """
    return StateChanged(
        plant_id=view.plant_id,
        module_id=view.module.id,
        state=view.state,
        reachable=view.reachable,
        at=view.reported_at,
        absence=view.absence,
        turned=True,
    )
