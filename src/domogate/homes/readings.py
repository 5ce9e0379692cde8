"""Operations that show the history of modules, and the energy that a home used."""

from datetime import UTC, datetime
from typing import Annotated

import msgspec
from msgspec import Meta

from domogate.common.times import find_time_zone, parse_time_zone
from domogate.domain.states import Unit
from domogate.homes.services import HomeCall, HomeServices
from domogate.http_api.operations import OperationTable
from domogate.http_api.paging import Listing
from domogate.http_api.requests import parse_parameter, read_period
from domogate.services.homes.energy import NOTHING, EnergyPrice, Per, PeriodReading, Used, sum_of
from domogate.wire import OutputModel, to_datetime

OPERATIONS = OperationTable("readings")


class PeriodReadingOut(OutputModel, frozen=True):
    """Readings of one measure in the hour, day or month that begins at the time `at`.

    `used` is the increase of a counter (measure `energy`) in this time; it is null for other measures.
    """

    at: datetime
    measure: str
    unit: Unit
    count: int
    mean: float
    low: float
    high: float
    last: float
    used: float | None


class UsedOut(OutputModel, frozen=True):
    """Energy in kilowatt hours: `used` in the period, and `usedBefore` in the previous period of the same length.

    `cost` is the cost of `used`, and `costBefore` the cost of `usedBefore`. An energy is null if nothing was measured in its
    period. `usedBefore` is also null for a guest who may not see the whole previous period. A cost is null if its energy is
    null, or if no price is set.
    """

    used: float | None
    used_before: float | None
    cost: float | None
    cost_before: float | None


class ModuleEnergyOut(UsedOut, frozen=True):
    module_id: str


class RoomEnergyOut(UsedOut, frozen=True):
    room_id: str


class HomeEnergyOut(UsedOut, frozen=True):
    """The energy of a home. The total is the sum of its energy meters, or of its plugs if no meter measured something in the
    period. `used` and `usedBefore` are sums of the same kind of devices.

    `since` is the time from which the energy is counted. A guest sees no energy from the time before the guest joined the home
    or before the guest's period began. So for a guest, `since` can be later than requested: it is then the first full hour that
    the guest may see, but never later than `until`. `simulated` is true if one of the measuring devices does not exist: the
    values of this device are invented.
    """

    since: datetime
    until: datetime
    price: float | None
    currency: str | None
    rooms: list[RoomEnergyOut]
    modules: list[ModuleEnergyOut]
    simulated: bool


class _Period(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    since: Annotated[str, Meta(description="ISO 8601, or epoch seconds. Default: one day before `until`.")] | None = None
    until: Annotated[str, Meta(description="ISO 8601, or epoch seconds. Default: now.")] | None = None


class ReadingsQuery(_Period, frozen=True, forbid_unknown_fields=True):
    per: Annotated[Per, Meta(description="The length of one item of the list.")] = Per.HOUR
    timezone: (
        Annotated[
            str,
            Meta(
                description="The time zone of days and months, for example Europe/Rome. Default: that of the home, or UTC.",
                max_length=100,
            ),
        ]
        | None
    ) = None


class EnergyQuery(_Period, frozen=True, forbid_unknown_fields=True):
    pass


@OPERATIONS.add(
    "GET /homes/{homeId}/modules/{moduleId}/readings",
    "The measured values of a module: one summary for each hour, day or month; the oldest is first",
    errors=(422,),
)
async def list_module_readings(services: HomeServices, call: HomeCall, query: ReadingsQuery) -> Listing[PeriodReadingOut]:
    home = await services.open_home(call)
    module = home.find_module(call.id_of("moduleId")).module
    since, until = read_period(query.since, query.until, services.clock.now())
    if query.timezone is None:
        zone = find_time_zone(home.plant.time_zone) or UTC
    else:
        zone = parse_parameter("timezone", parse_time_zone, query.timezone)
    with services.limits.hold(call.caller.user_id):
        found = await services.history.list_readings(home, module.id, since, until, query.per, zone)
    return Listing([_reading_out(one) for one in found])


def _reading_out(one: PeriodReading) -> PeriodReadingOut:
    return PeriodReadingOut.of(one.summary, used=one.used)


@OPERATIONS.add(
    "GET /homes/{homeId}/energy",
    "The energy that the home, its rooms and its modules used in a period, and in the period of the same length before it",
    errors=(422,),
)
async def get_energy(services: HomeServices, call: HomeCall, query: EnergyQuery) -> HomeEnergyOut:
    home = await services.open_home(call)
    since, until = read_period(query.since, query.until, services.clock.now())
    with services.limits.hold(call.caller.user_id):
        energy = await services.history.sum_energy(home, since, until)
    price, modules = services.energy_price, energy.modules
    rooms = {
        room.id: sum_of([modules[module.id] for module in room.modules if module.id in modules])
        for room in home.view.ambients.values()
    }
    return HomeEnergyOut(
        **_used(energy.total, price),
        since=to_datetime(energy.since),
        until=to_datetime(until),
        price=None if price is None else price.amount,
        currency=None if price is None else price.currency,
        rooms=[RoomEnergyOut(**_used(used, price), room_id=room_id) for room_id, used in rooms.items() if used != NOTHING],
        modules=[ModuleEnergyOut(**_used(used, price), module_id=module_id) for module_id, used in modules.items()],
        simulated=any(home.find_module(module_id).module.is_simulated for module_id in modules),
    )


def _used(used: Used, price: EnergyPrice | None) -> dict[str, float | None]:
    now, before = (None if part is None else round(part / 1000, 3) for part in (used.now, used.before))
    costs = (None if price is None or part is None else round(part * price.amount, 2) for part in (now, before))
    return dict(zip(("used", "used_before", "cost", "cost_before"), (now, before, *costs), strict=True))
