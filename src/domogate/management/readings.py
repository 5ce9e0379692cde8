"""Readings: what modules measured, as they did or a span of time at a time."""

from collections.abc import Callable
from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import UNSET, UnsetType

from domogate.common.times import parse_moment, parse_resolution
from domogate.domain.ids import Id
from domogate.domain.states import ReadingSummary, Unit
from domogate.http_api.problems import Problem
from domogate.management.modules import find_module, find_plant
from domogate.management.operation import Call, Desk, Listing, Operation, Page
from domogate.services.plants.history import History
from domogate.wire import Shown, moment

_DAY = 86_400.0


class KeptReading(Shown, frozen=True):
    """One reading (`value`) or, where a resolution was asked for, a summary of those in the span that begins at `at`."""

    measure: str
    unit: Unit
    at: datetime
    value: float | UnsetType = UNSET
    count: int | UnsetType = UNSET
    mean: float | UnsetType = UNSET
    low: float | UnsetType = UNSET
    high: float | UnsetType = UNSET
    last: float | UnsetType = UNSET


class ReadingPage(Page, frozen=True, forbid_unknown_fields=True):
    limit: Annotated[int, msgspec.Meta(ge=1, le=5000, description="How many at most.")] = 1000
    since: Annotated[str, msgspec.Meta(description="ISO 8601, or seconds since the epoch; a day before `until`.")] | None = None
    until: Annotated[str, msgspec.Meta(description="ISO 8601, or seconds since the epoch; now.")] | None = None
    resolution: (
        Annotated[str, msgspec.Meta(description="Summaries of so long: 60 (seconds), 15m, 1h, 1d; one minute at least.")] | None
    ) = None
    measure: Annotated[str, msgspec.Meta(description="Only this: power, energy, temperature, humidity.")] | None = None


async def list_readings(desk: Desk, call: Call) -> Listing[KeptReading]:
    query: ReadingPage = call.query
    module_id = find_module(await find_plant(desk, call), call).module.id
    until = _read("until", parse_moment, query.until)
    until = desk.clock.now() if until is None else until
    since = _read("since", parse_moment, query.since)
    since = until - _DAY if since is None else since
    resolution = _read("resolution", parse_resolution, query.resolution)
    if since > until:
        raise Problem(400, "The query is not as expected: since is after until.")
    if query.after is not None:
        since = _since(query.after, resolution)
    found = await _find(desk.devices.history, module_id, since, until, resolution, query)
    end = _end_of_page([one.at for one in found], query.limit)
    following = str(round(found[end].at * 1000)) if end < len(found) else None
    return Listing([_show(one, resolution) for one in found[:end]], following)


def _read(name: str, parse: Callable[[str], float], text: str | None) -> float | None:
    try:
        return None if text is None else parse(text)
    except ValueError as error:
        raise Problem(400, f"The query is not as expected: {name}: {error}") from None


def _since(after: str, resolution: float | None) -> float:
    """The cursor is the millisecond of what comes next; half of one earlier finds it however it was rounded."""
    if not (after.isascii() and after.isdecimal() and len(after) <= 15):
        raise Problem(400, "The query is not as expected: `after` must be `next` of the page before.")
    return int(after) / 1000 if resolution is not None else (int(after) - 0.5) / 1000


async def _find(
    history: History, module_id: Id, since: float, until: float, resolution: float | None, query: ReadingPage
) -> list[ReadingSummary]:
    """The oldest of that time: one more moment than the page holds, if there are as many."""
    found: list[ReadingSummary] = []
    async for page in history.export((module_id,), since, until, resolution):
        found += [one for _, one in page if query.measure in (None, one.measure)]
        if len(found) > query.limit and found[-1].at > found[query.limit - 1].at:
            break
    return found


def _end_of_page(moments: list[float], limit: int) -> int:
    """What was measured at the same moment stays together, on a page that is longer for it: the cursor is a moment."""
    end = min(limit, len(moments))
    while 0 < end < len(moments) and moments[end] == moments[end - 1]:
        end += 1
    return end


def _show(one: ReadingSummary, resolution: float | None) -> KeptReading:
    shown = KeptReading(one.measure, one.unit, moment(one.at))
    if resolution is None:
        return msgspec.structs.replace(shown, value=one.last)
    return msgspec.structs.replace(shown, count=one.count, mean=one.mean, low=one.low, high=one.high, last=one.last)


OPERATIONS = (
    Operation(
        id="listReadings", tag="readings", summary="What a module measured, the oldest first",
        method="GET", path="/plants/{plantId}/modules/{moduleId}/readings", handler=list_readings,
        query=ReadingPage, answer=Listing[KeptReading], errors=frozenset({404}),
    ),
)  # fmt: skip
