"""The operation that shows readings: values that modules measured, single or summarised over periods of time."""

from datetime import datetime
from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from domogate.common.times import parse_resolution
from domogate.domain.ids import Id
from domogate.domain.states import ReadingSummary, Unit
from domogate.http_api.operations import OperationTable
from domogate.http_api.paging import Listing, Page, end_of_page, wrong_cursor
from domogate.http_api.problems import Problem
from domogate.http_api.requests import parse_parameter, read_period
from domogate.management.modules import find_module, find_plant
from domogate.management.services import ManagementServices, OperatorCall
from domogate.services.plants.history import History
from domogate.services.refusals import Reason
from domogate.wire import OutputModel, to_datetime

OPERATIONS = OperationTable("readings")


class _Measured(OutputModel, frozen=True):
    measure: str
    unit: Unit
    at: datetime
    simulated: bool
    value: float | UnsetType = UNSET


class MeasurementOut(_Measured, frozen=True):
    """One reading (`value`). If a resolution was asked for: a summary of the readings in the period that begins at the time
    `at`.

    `simulated` is true if the module is simulated: the reading is invented.
    """

    count: int | UnsetType = UNSET
    mean: float | UnsetType = UNSET
    low: float | UnsetType = UNSET
    high: float | UnsetType = UNSET
    last: float | UnsetType = UNSET


class ReadingPage(Page, frozen=True, forbid_unknown_fields=True):
    limit: Annotated[
        int, Meta(ge=1, le=5000, description="The number of readings on a page. All readings of one time are on the same page.")
    ] = 1000
    since: Annotated[str, Meta(description="ISO 8601, or epoch seconds. Default: one day before `until`.")] | None = None
    until: Annotated[str, Meta(description="ISO 8601, or epoch seconds. Default: now.")] | None = None
    resolution: Annotated[str, Meta(description="Period of a summary: 60 (seconds), 15m, 1h, 1d. At least 1m.")] | None = None
    measure: (
        Annotated[str, Meta(description="Only readings of this quantity: power, energy, temperature or humidity.")] | None
    ) = None


@OPERATIONS.add("GET /plants/{plantId}/modules/{moduleId}/readings", "The readings of a module; the oldest is first")
async def list_readings(services: ManagementServices, call: OperatorCall, query: ReadingPage) -> Listing[MeasurementOut]:
    module = find_module(await find_plant(services, call), call).module
    since, until = read_period(query.since, query.until, services.clock.now())
    resolution = None if query.resolution is None else parse_parameter("resolution", parse_resolution, query.resolution)
    if since > until:
        raise Problem(400, "The query is not as expected: since is after until.", reason=Reason.REVERSED_PERIOD)
    if query.after is not None:
        since = _since(query.after, resolution)
    found = await _find(services.devices.history, module.id, since, until, resolution, query)
    end = end_of_page(found, query.limit, lambda one: one.at)
    following = str(round(found[end].at * 1000)) if end < len(found) else None
    out = [_measurement_out(one, module.is_simulated, is_summary=resolution is not None) for one in found[:end]]
    return Listing(out, following)


def _since(cursor: str, resolution: float | None) -> float:
    """Return the start time of the next page. The cursor is the time of its first reading, rounded to milliseconds.

    Half a millisecond is subtracted, so that the rounding cannot skip this reading. With a resolution this is not done: then
    the cursor is the start of a period. Raises Problem if the cursor is not valid.
    """
    if not (cursor.isascii() and cursor.isdecimal() and len(cursor) <= 15):
        raise wrong_cursor()
    return int(cursor) / 1000 if resolution is not None else (int(cursor) - 0.5) / 1000


async def _find(
    history: History, module_id: Id, since: float, until: float, resolution: float | None, query: ReadingPage
) -> list[ReadingSummary]:
    """Return the readings of the page, the oldest first.

    If there is a next page, the result also has at least one reading of the next page.
    """
    found: list[ReadingSummary] = []
    async for page in history.export((module_id,), since, until, resolution):
        found += [one for _, one in page if query.measure in (None, one.measure)]
        if len(found) > query.limit and found[-1].at > found[query.limit - 1].at:
            break
    return found


def _measurement_out(one: ReadingSummary, simulated: bool, *, is_summary: bool) -> MeasurementOut:
    at = to_datetime(one.at)
    if not is_summary:
        return MeasurementOut(one.measure, one.unit, at, simulated, one.last)
    return MeasurementOut(one.measure, one.unit, at, simulated, UNSET, one.count, one.mean, one.low, one.high, one.last)
