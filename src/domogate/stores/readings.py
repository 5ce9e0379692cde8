"""Queries for readings. Recent readings are stored as measured. Older readings are stored as one summary for each hour.

`list_summaries` combines readings and stored summaries. After late reports, an hour can have both readings and a summary. Then
`list_summaries` merges them.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from math import ceil, floor
from typing import Any, NamedTuple

from sqlalchemy import BigInteger, BindParameter, ColumnElement, Connection, FromClause, Select, bindparam, cast, func, select

from domogate.domain.ids import Id
from domogate.domain.shards import shard_of
from domogate.domain.states import Reading, ReadingSummary, Report, Unit
from domogate.stores.readers import Lane
from domogate.stores.recorder import LATEST, SERIES, SLOT_MS
from domogate.stores.subject import SqlSubject, reads
from domogate.stores.tables.devices import hourly_readings as hourly
from domogate.stores.tables.devices import recent_readings as raw
from domogate.stores.tables.devices import series

HOUR_MS = 3_600_000
FINEST = 60.0
"""The shortest interval of a summary, in seconds."""
_SLOTS_A_QUERY = 288


@cache
def _newest_slots() -> Select[Any]:
    """Return a query for the newest slots (numbers of periods of SLOT_MS milliseconds) that have readings.

    Each step of the query looks up the next older slot in the index.
    """
    first: BindParameter[int] = bindparam("first")
    found = select(func.max(raw.c.slot).label("slot")).where(raw.c.slot.between(first, bindparam("last")))
    slots = found.cte("slots", recursive=True)
    before = select(func.max(raw.c.slot)).where(raw.c.slot < slots.c.slot, raw.c.slot >= first).scalar_subquery()
    slots = slots.union_all(select(before).where(slots.c.slot.is_not(None)))
    return select(slots.c.slot).where(slots.c.slot.is_not(None)).limit(_SLOTS_A_QUERY)


MOMENT: ColumnElement[int] = cast(raw.c.slot, BigInteger) * SLOT_MS + raw.c.ms
"""The time of a reading in milliseconds since the epoch."""
_IN_PERIOD = (
    raw.c.slot.in_(bindparam("slots", expanding=True)),
    raw.c.series.in_(bindparam("series", expanding=True)),
    MOMENT.between(bindparam("since"), bindparam("until")),
)
_RAW = (
    select(MOMENT.label("moment"), raw.c.series, raw.c.value)
    .where(*_IN_PERIOD)
    .order_by(raw.c.slot.desc(), raw.c.ms.desc(), raw.c.series.desc())
    .limit(bindparam("limit"))
)


def summarise(period: ColumnElement[int]) -> Select[Any]:
    """Return a query with one summary for each series and period. `last_moment` is the time of its last reading."""
    return select(
        raw.c.series,
        period,
        func.count().label("count"),
        func.avg(raw.c.value).label("mean"),
        func.min(raw.c.value).label("low"),
        func.max(raw.c.value).label("high"),
        func.max(MOMENT).label("last_moment"),
    ).group_by(raw.c.series, period)


@cache
def _raw_spans() -> Select[Any]:
    span = (MOMENT // bindparam("width", type_=BigInteger)).label("span")
    found = summarise(span).where(*_IN_PERIOD).subquery()
    last = raw.alias("last")
    return select(
        found.c.series,
        found.c.span,
        found.c["count"],
        found.c.mean,
        found.c.low,
        found.c.high,
        last.c.value,
        found.c.last_moment,
    ).join(last, is_last(last, found))


def is_last(reading: FromClause, found: FromClause) -> ColumnElement[bool]:
    """Return the condition that joins each row of `found` with its last reading (in the table `reading`).

    `found` has the columns `series` and `last_moment`, the time of the last reading.
    """
    slot, ms = found.c.last_moment // SLOT_MS, found.c.last_moment % SLOT_MS
    return (reading.c.slot == slot) & (reading.c.series == found.c.series) & (reading.c.ms == ms)


@cache
def _hourly_spans() -> Select[Any]:
    begins = cast(hourly.c.hour, BigInteger) * HOUR_MS
    span = (begins // bindparam("width", type_=BigInteger)).label("span")
    count = func.sum(hourly.c["count"])
    found = (
        select(
            hourly.c.series,
            span,
            count.label("count"),
            (func.sum(hourly.c.mean * hourly.c["count"]) / count).label("mean"),
            func.min(hourly.c.low).label("low"),
            func.max(hourly.c.high).label("high"),
            func.max(hourly.c.hour).label("last_hour"),
        )
        .where(
            hourly.c.series.in_(bindparam("series", expanding=True)),
            hourly.c.hour.between(bindparam("first"), bindparam("last")),
        )
        .group_by(hourly.c.series, span)
        .order_by(span.desc(), hourly.c.series.desc())
        .limit(bindparam("limit"))
        .subquery()
    )
    last = hourly.alias("last")
    moment = cast(last.c.hour, BigInteger) * HOUR_MS + last.c.last_ms
    return select(
        found.c.series, found.c.span, found.c["count"], found.c.mean, found.c.low, found.c.high, last.c["last"], moment
    ).join(last, (last.c.series == found.c.series) & (last.c.hour == found.c.last_hour))


def _series_of(connection: Connection, module_id: Id) -> dict[int, tuple[str, Unit]]:
    rows = connection.execute(SERIES.where(series.c.module_id == module_id))
    return {row.id: (row.measure, Unit(row.unit)) for row in rows}


def _slots_with_readings(connection: Connection, since: int, until: int) -> Iterator[list[int]]:
    """Yield lists of slots (numbers of periods of SLOT_MS milliseconds) that have readings, the newest slot first.

    Slots without readings take no time, even if there are many between `since` and `until`.
    """
    first, last = since // SLOT_MS, until // SLOT_MS
    while slots := list(connection.execute(_newest_slots(), {"first": first, "last": last}).scalars()):
        yield slots
        last = slots[-1] - 1


def list_readings(
    connection: Connection, module_id: Id, since: float, until: float, limit: int
) -> Sequence[tuple[str, Reading]]:
    """Return the newest `limit` readings with since <= at <= until. The oldest of them is first."""
    measured = _series_of(connection, module_id)
    first, last = ceil(max(0.0, since) * 1000), floor(min(LATEST, until) * 1000)
    found: list[tuple[int, str, float, Unit]] = []
    for slots in _slots_with_readings(connection, first, last) if measured else ():
        of_these = {"slots": slots, "series": list(measured), "since": first, "until": last}
        for moment, number, value in connection.execute(_RAW, {**of_these, "limit": limit - len(found)}):
            measure, unit = measured[number]
            found.append((moment, measure, value, unit))
        if len(found) >= limit:
            break
    found.sort(key=lambda row: row[:2])
    return [(measure, Reading(value, unit, moment / 1000)) for moment, measure, value, unit in found]


class _Part(NamedTuple):
    """Values of one interval, from readings or from summaries."""

    times: int
    mean: float
    low: float
    high: float
    last: float
    last_moment: int


def _merge(one: _Part, other: _Part) -> _Part:
    times = one.times + other.times
    later = max(one, other, key=lambda part: part.last_moment)
    mean = (one.mean * one.times + other.mean * other.times) / times
    return _Part(times, mean, min(one.low, other.low), max(one.high, other.high), later.last, later.last_moment)


def list_summaries(
    connection: Connection, module_id: Id, since: float, until: float, resolution: float, limit: int
) -> Sequence[ReadingSummary]:
    """Return the newest `limit` summaries of intervals that overlap the time from `since` to `until`. The oldest is first.

    `resolution` is the length of an interval in seconds. Raises ValueError if it is less than FINEST or more
    than LATEST seconds (about 3,000 years).

    Old readings are stored only as one summary for each hour. So intervals shorter than an hour are returned only for readings
    that are still stored one by one. A summary of an hour can overlap two intervals, for example if intervals have 90 minutes.
    It belongs to the interval in which its hour begins.
    """
    if not FINEST <= resolution <= LATEST:
        raise ValueError(f"the resolution of summaries is at least {FINEST:g} seconds, not {resolution:g}")
    width = round(resolution * 1000)
    measured = _series_of(connection, module_id)
    if not measured or limit < 1:
        return []
    first = floor(max(0.0, since) * 1000) // width * width
    last = (floor(min(LATEST, until) * 1000) // width + 1) * width - 1
    parts: dict[tuple[int, int], _Part] = {}

    def add(rows: Iterable[Sequence[Any]]) -> None:
        for number, span, *numbers in rows:
            key, part = (span, number), _Part(*numbers)
            parts[key] = _merge(parts[key], part) if key in parts else part

    asked = {"series": list(measured), "width": width}
    for slots in _slots_with_readings(connection, first, last):
        add(connection.execute(_raw_spans(), {**asked, "slots": slots, "since": first, "until": last}))
        # The oldest interval may continue in slots that are not read yet.
        oldest = min((span for span, _ in parts), default=0)
        if sum(span > oldest for span, _ in parts) >= limit:
            break
    if width >= HOUR_MS:
        in_hours = {"first": -(-first // HOUR_MS), "last": last // HOUR_MS}
        add(connection.execute(_hourly_spans(), {**asked, **in_hours, "limit": limit}))
    newest = sorted(parts, reverse=True)[:limit]
    found = [
        ReadingSummary(*measured[number], span * width / 1000, part.times, part.mean, part.low, part.high, part.last)
        for (span, number), part in ((key, parts[key]) for key in newest)
    ]
    return sorted(found, key=lambda summary: (summary.at, summary.measure))


class SqlReadings(SqlSubject):
    """Writes reports of drivers, and reads readings. Implements StateStore, and the queries of ReadingStore."""

    list_readings = reads(list_readings, lane=Lane.LONG)
    list_summaries = reads(list_summaries, lane=Lane.LONG)

    async def record(self, reports: Sequence[Report]) -> None:
        if not reports:
            return
        if self.holdings is None:
            await self._write_driven((), reports)
            return
        # Each shard has its own write, so that a lost shard does not affect other shards.
        by_shard: dict[int, list[Report]] = {}
        for report in reports:
            by_shard.setdefault(shard_of(Id(report.plant_id)), []).append(report)
        writing = [self._record_shard(some) for some in by_shard.values()]
        for error in await asyncio.gather(*writing, return_exceptions=True):
            if error is not None:
                raise error

    async def _record_shard(self, reports: Sequence[Report]) -> None:
        await self._write_driven([reports[0].plant_id], reports)
