"""Readings of a module in hours, days or months, and the energy that a home used in a period."""

import math
from collections.abc import Sequence
from datetime import datetime, tzinfo
from enum import StrEnum

import msgspec

from domogate.domain.devices import DeviceKind
from domogate.domain.ids import Id
from domogate.domain.states import ReadingSummary
from domogate.ports import FeedStore
from domogate.services.homes.homes import Home
from domogate.services.homes.joining import find_joined_at
from domogate.services.plants.history import History
from domogate.services.refusals import Invalid, Reason

HOUR, DAY = 3600.0, 86_400.0
LONGEST = 400 * DAY
"""In seconds. The longest period for which a person can ask for readings or for the used energy."""
MOST_METERS = 300
"""The energy of a home includes at most this number of its plugs and meters."""
_SERIES = 8
"""A module has at most this number of series. This number limits the rows that one query reads."""
_LOOK_BACK = 7 * DAY
"""In seconds: how far the search for an earlier reading of a counter goes back.

To find the value of a counter at a given time, only the hours that began before this time are used. The value is the last
reading in the newest hour that has a reading. An hour that ended more than `_LOOK_BACK` before the given time is not used.
"""


class Per(StrEnum):
    HOUR = "hour"
    DAY = "day"
    MONTH = "month"


class PeriodReading(msgspec.Struct, frozen=True):
    """The readings of one measure in the hour, day or month that begins at `summary.at`.

    `used` is the amount by which a counter grew in this hour, day or month. It is None for a measure that is not a counter.
    """

    summary: ReadingSummary
    used: float | None


class Used(msgspec.Struct, frozen=True):
    """Used energy in watt hours. `now` is for the requested period, `before` for the period of the same length before it.

    A value is None if nothing was measured. `before` is also None for a guest who may see only a part of the earlier period, or
    nothing of it.
    """

    now: float | None
    before: float | None

    def __add__(self, other: "Used") -> "Used":
        return Used(_add(self.now, other.now), _add(self.before, other.before))


NOTHING = Used(None, None)


class EnergyPrice(msgspec.Struct, frozen=True):
    """The price of a kilowatt hour."""

    amount: float
    currency: str


class HomeEnergy(msgspec.Struct, frozen=True):
    """The energy that a home used in a period.

    `total` is the sum of the energy meters. If only plugs have values in the period, `total` is the sum of the plugs. If no
    device has values in the period, `total.now` is None. Then `total.before` is the sum of the energy meters or, if only plugs
    have values in the period before, the sum of the plugs.

    `since` is the beginning of the period. For a guest, it can be later than the requested time.
    """

    since: float
    total: Used
    modules: dict[Id, Used]


class HomeHistory:
    """Reads the history of modules for residents.

    A guest sees only the history since the guest joined the home (`find_joined_at`). Earlier values are about other people.
    """

    def __init__(self, history: History, store: FeedStore) -> None:
        self._history = history
        self._store = store

    def check_period(self, since: float, until: float) -> None:
        """Raises Invalid if the period ends before it begins, or is too long."""
        if not since < until:
            raise Invalid("The period must end after it begins.", Reason.BAD_PERIOD)
        if until - since > LONGEST:
            raise Invalid(f"A period can have at most {LONGEST / DAY:.0f} days.", Reason.BAD_PERIOD)

    async def _find_earliest(self, home: Home) -> float:
        """Return the time from which a guest may see readings, rounded up to an hour.

        For people who are not guests, the result is 0.
        """
        if home.access.guest_id is None:
            return 0.0
        came_at = await find_joined_at(self._store, home.access)
        return came_at if math.isinf(came_at) else math.ceil(came_at / HOUR) * HOUR

    async def list_readings(
        self, home: Home, module_id: Id, since: float, until: float, per: Per, zone: tzinfo
    ) -> list[PeriodReading]:
        """Return one element for each measure in each hour, day or month (`per`), in order of time.

        Days and months begin at midnight in the time zone `zone`. Raises Invalid if the period is not valid.
        """
        self.check_period(since, until)
        since = max(since, await self._find_earliest(home))
        if not since < until:
            return []
        first = since // HOUR * HOUR
        limit = (int((until - first) / HOUR) + 2) * _SERIES
        hours = await self._history.list_summaries(module_id, first, until, HOUR, limit)
        periods: dict[tuple[float, str], PeriodReading] = {}
        counter = await self._read_counter(module_id, first)
        for hour in hours:
            if not first <= hour.at < until:
                continue
            used = None
            if hour.measure == "energy":
                used = hour.last - hour.low if counter is None else _difference(counter, hour.last)
                counter = hour.last
            key = _begin_of(hour.at, per, zone), hour.measure
            periods[key] = _merge(periods.get(key), hour, used, at=key[0])
        return sorted(periods.values(), key=lambda one: (one.summary.at, one.summary.measure))

    async def sum_energy(self, home: Home, since: float, until: float) -> HomeEnergy:
        """Return the energy that the home used, in total and for each meter and plug.

        If a guest may see nothing of the period, the result has no energy, and `since` of the result is `until`.
        Raises Invalid if the period is not valid.
        """
        self.check_period(since, until)
        earliest = await self._find_earliest(home)
        since = min(max(since, earliest), until)
        if since == until:
            return HomeEnergy(since, NOTHING, {})
        kinds = (DeviceKind.ENERGYMETER, DeviceKind.PLUG)
        measuring = [view.module for kind in kinds for view in home.view.modules.values() if view.module.kind is kind]
        modules = {module.id: await self._measure(module.id, since, until) for module in measuring[:MOST_METERS]}
        modules = {module_id: used for module_id, used in modules.items() if used != NOTHING}
        if 2 * since - until < earliest:
            modules = {module_id: Used(used.now, None) for module_id, used in modules.items()}
        totals = [sum_of([modules[one.id] for one in measuring if one.kind is kind and one.id in modules]) for kind in kinds]
        # Both periods use devices of the same kind: the first kind that measured in the period, or else in the period before.
        total = min(totals, key=lambda one: (one.now is None, one == NOTHING))
        return HomeEnergy(since, total, modules)

    async def _measure(self, module_id: Id, since: float, until: float) -> Used:
        """Return the energy that the module used.

        The energy is computed from the counter of the module. Without a counter, it is computed from the measured power.
        """
        times = (2 * since - until, since, until)
        before, begin, end = [await self._read_counter(module_id, at) for at in times]
        if end is not None:
            first = await self._read_first_counter(module_id, since, until) if begin is None else begin
            return Used(_difference(first, end), _difference(before, begin))
        return Used(*[await self._sum_power(module_id, *period) for period in ((since, until), times[:2])])

    async def _read_counter(self, module_id: Id, at: float) -> float | None:
        # Most counters are read every hour. The second query is only for counters without a reading in the newest hours.
        for hours in (2, int(_LOOK_BACK / HOUR) + 2):
            limit = hours * _SERIES
            found = await self._history.list_summaries(module_id, at - _LOOK_BACK, at, HOUR, limit)
            # The query also finds the hour that begins at this time. This hour is left out.
            last = next((one.last for one in reversed(found) if one.measure == "energy" and one.at < at), None)
            if last is not None or len(found) < limit:
                return last
        return None

    async def _read_first_counter(self, module_id: Id, since: float, until: float) -> float | None:
        """Return the first value of the counter in the period. Return None if the period has no reading of the counter.

        Use this method for a counter that has no reading before the period.
        """
        _, found = await self._list_all(module_id, since, until)
        return next((one.low for one in found if one.measure == "energy"), None)

    async def _sum_power(self, module_id: Id, since: float, until: float) -> float | None:
        width, found = await self._list_all(module_id, since, until)
        parts = [one.mean * (min(until, one.at + width) - max(since, one.at)) / HOUR for one in found if one.measure == "power"]
        return sum(parts) if parts else None

    async def _list_all(self, module_id: Id, since: float, until: float) -> tuple[float, Sequence[ReadingSummary]]:
        """Return the number of seconds that each summary covers, and the summaries of the module's readings in the period."""
        width = HOUR if until - since <= 7 * DAY else DAY
        limit = (int((until - since) / width) + 2) * _SERIES
        return width, await self._history.list_summaries(module_id, since, until, width, limit)


def _add(one: float | None, other: float | None) -> float | None:
    return other if one is None else one if other is None else one + other


def _difference(begin: float | None, end: float | None) -> float | None:
    """Return the difference between two values of a counter, or None if one of the values is None.

    If `end` is less than half of `begin`, the counter was replaced and began again at 0. Then return `end`. If `end` is lower
    than `begin`, but not less than half of it, return 0. The reason: a power cut removed the last steps of the count, or the
    clock was set back.
    """
    if begin is None or end is None:
        return None
    if end < begin:
        return end if end < begin / 2 else 0.0
    return end - begin


def _merge(period: PeriodReading | None, hour: ReadingSummary, used: float | None, *, at: float) -> PeriodReading:
    if period is None:
        return PeriodReading(msgspec.structs.replace(hour, at=at), used)
    former = period.summary
    count = former.count + hour.count
    merged = msgspec.structs.replace(
        former,
        count=count,
        mean=(former.mean * former.count + hour.mean * hour.count) / count,
        low=min(former.low, hour.low),
        high=max(former.high, hour.high),
        last=hour.last,
    )
    return PeriodReading(merged, _add(period.used, used))


def _begin_of(at: float, per: Per, zone: tzinfo) -> float:
    if per is Per.HOUR:
        return at
    # On some days, clocks are set back and show midnight twice. fold=0 means the first midnight.
    local = datetime.fromtimestamp(at, zone).replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
    return (local if per is Per.DAY else local.replace(day=1)).timestamp()


def sum_of(parts: Sequence[Used]) -> Used:
    total = NOTHING
    for part in parts:
        total += part
    return total
