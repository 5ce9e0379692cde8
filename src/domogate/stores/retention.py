"""Limits the number of readings. Summaries replace old readings, and the oldest summaries are removed.

Each step takes a few milliseconds of the writer's time, so other writes are not delayed.
"""

from sqlalchemy import BigInteger, ColumnElement, Connection, case, cast, delete, func, select, tuple_

from domogate.stores.engine import Transaction
from domogate.stores.readers import Lane
from domogate.stores.readings import HOUR_MS, SqlReadings, is_last, summarise
from domogate.stores.recorder import SLOT_MS, to_moment
from domogate.stores.tables.devices import hourly_readings as hourly
from domogate.stores.tables.devices import raw_readings, series
from domogate.stores.tables.devices import recent_readings as raw

PIECE = 2_000
"""The largest number of readings or summaries that one transaction summarises, moves or removes."""
_SLOTS_AN_HOUR = HOUR_MS // SLOT_MS

_KEY = (raw.c.slot, raw.c.series, raw.c.ms)
_EARLIER_KEY = (raw_readings.c.hour, raw_readings.c.series, raw_readings.c.ms)
_HOURLY_KEY = (hourly.c.series, hourly.c.hour)


def _hour_of(at: float) -> int:
    return to_moment(at) // HOUR_MS


def move_earlier(tx: Transaction) -> bool:
    """Move some readings from the table of version 0.1 into the present table, the newest first (Decision 0146).

    Return True if there may be more of them.
    """
    by_age = [column.desc() for column in _EARLIER_KEY]
    last = tx.connection.execute(select(*_EARLIER_KEY).order_by(*by_age).offset(PIECE - 1).limit(1)).first()
    these = raw_readings.c.hour >= 0 if last is None else tuple_(*_EARLIER_KEY) >= tuple_(*last)
    moment = cast(raw_readings.c.hour, BigInteger) * HOUR_MS + raw_readings.c.ms
    moved = select(moment // SLOT_MS, raw_readings.c.series, moment % SLOT_MS, raw_readings.c.value).where(these)
    # A reading of the same millisecond in the present table is newer.
    tx.connection.execute(tx.database.insert(raw).from_select(raw.columns.keys(), moved).on_conflict_do_nothing())
    tx.connection.execute(delete(raw_readings).where(these))
    return last is not None


def _oldest(tx: Transaction, before_hour: int, piece: int) -> tuple[ColumnElement[bool], bool] | None:
    """Return a condition for at most `piece` readings of the hours before `before_hour`, the oldest first.

    Also return whether there may be more readings of these hours. Return None if there are no such readings.
    """
    old = raw.c.slot < before_hour * _SLOTS_AN_HOUR
    keys = select(*_KEY).where(old).order_by(*_KEY)
    if tx.connection.execute(keys.limit(1)).first() is None:
        return None
    last = tx.connection.execute(keys.offset(piece - 1).limit(1)).first()
    if last is None:
        return old, False
    return tuple_(*_KEY) <= tuple_(*last), True


def summarise_oldest(tx: Transaction, before_hour: int) -> bool:
    """Summarise some of the readings before `before_hour`, the oldest first. Return True if there may be more of them.

    If an hour already has a summary, its readings are added to this summary.
    """
    found = _oldest(tx, before_hour, PIECE)
    if found is None:
        return False
    these, more = found
    spans = summarise((raw.c.slot // _SLOTS_AN_HOUR).label("hour")).where(these).subquery()
    numbers = (spans.c[name] for name in ("series", "hour", "count", "mean", "low", "high"))
    last = raw.alias("last")
    # The readings are joined with the series, so readings of deleted modules are left out.
    summaries = (
        select(*numbers, last.c.value, spans.c.last_moment % HOUR_MS)
        .join(series, series.c.id == spans.c.series)
        .join(last, is_last(last, spans))
        .where(spans.c["count"] > 0)
    )
    names = ["series", "hour", "count", "mean", "low", "high", "last", "last_ms"]
    adding = tx.database.insert(hourly).from_select(names, summaries)
    new, count = adding.excluded, hourly.c["count"] + adding.excluded["count"]
    later = new.last_ms >= hourly.c.last_ms
    tx.connection.execute(
        adding.on_conflict_do_update(
            index_elements=["series", "hour"],
            set_={
                "count": count,
                "mean": (hourly.c.mean * hourly.c["count"] + new.mean * new["count"]) / count,
                "low": case((new.low < hourly.c.low, new.low), else_=hourly.c.low),
                "high": case((new.high > hourly.c.high, new.high), else_=hourly.c.high),
                "last": case((later, new["last"]), else_=hourly.c["last"]),
                "last_ms": case((later, new.last_ms), else_=hourly.c.last_ms),
            },
        )
    )
    tx.connection.execute(delete(raw).where(these))
    return more


def prune_raw(tx: Transaction, before_hour: int, most: int | None = None) -> int:
    """Remove the oldest readings of the hours before `before_hour`, at most `most` of them (None means `PIECE`).

    Return how many readings were removed.
    """
    found = _oldest(tx, before_hour, most or PIECE)
    return 0 if found is None else tx.connection.execute(delete(raw).where(found[0])).rowcount


def prune_hourly(tx: Transaction, before_hour: int, most: int | None = None) -> int:
    """Remove some of the oldest hourly summaries, and return their number. `before_hour` is the first hour that stays.

    At most `most` summaries are removed (None means `PIECE`).
    """
    oldest = select(*_HOURLY_KEY).where(hourly.c.hour < before_hour).order_by(hourly.c.hour).limit(most or PIECE)
    return tx.connection.execute(delete(hourly).where(tuple_(*_HOURLY_KEY).in_(oldest))).rowcount


def count_readings(connection: Connection) -> int:
    """Return the number of stored readings and summaries together."""
    return sum(connection.execute(select(func.count()).select_from(table)).scalar_one() for table in (raw, hourly))


def prune_excess(tx: Transaction, excess: int) -> int:
    """Remove at most `excess` readings or summaries of the oldest stored hour. Return their number."""
    first = tx.connection.execute(select(func.min(hourly.c.hour))).scalar()
    slot = tx.connection.execute(select(func.min(raw.c.slot))).scalar()
    first_raw = None if slot is None else slot // _SLOTS_AN_HOUR
    hours = [hour for hour in (first, first_raw) if hour is not None]
    if not hours:
        return 0
    prune = prune_hourly if first == min(hours) else prune_raw
    return prune(tx, min(hours) + 1, min(excess, PIECE))


class SqlRetention(SqlReadings):
    """Summarises and removes old readings. Implements ReadingStore, together with its base class."""

    async def summarise_readings(self, before: float) -> None:
        """Replace readings that are older than the time `before` by hourly summaries. Only whole hours are summarised."""
        await self._repeat(move_earlier)
        await self._repeat(summarise_oldest, _hour_of(before))

    async def prune_readings(self, before: float, most: int) -> None:
        """Remove the readings and summaries of all hours that ended at or before the time `before`.

        `most` is the number of readings and summaries that may remain. If more remain, remove the oldest.
        """
        for prune in (prune_raw, prune_hourly):
            while await self._write(prune, _hour_of(before)):
                pass
        excess = await self._read_in(Lane.LONG, count_readings) - most
        while excess > 0 and (removed := await self._write(prune_excess, excess)):
            excess -= removed
