"""Stores the last time that a gateway has read from its clock. The time is stored only while the clock is right.

A gateway compares its clock with this time, to detect that the clock is wrong.

The row `gateways` of the table `clock` has this time. `leases.py` keeps another time in the same table.
"""

from sqlalchemy import Connection, select

from domogate.stores.engine import Transaction
from domogate.stores.tables.feed import changes, clock

FAR_AHEAD = 7 * 86_400.0
"""In seconds. If the code that prunes old data finds a time that is ahead of the clock by more than this, this time was written
while the clock was wrong. The reason: the gateway prunes only while it takes its clock for right (Decision 0071).
"""
_ROW = "gateways"
_LAST_TIME = select(clock.c.seen_at).where(clock.c.id == _ROW)
_NEWEST_CHANGE = select(changes.c.at).order_by(changes.c.cursor.desc()).limit(1)


def find_last_time(connection: Connection) -> float | None:
    """Return the stored time of a gateway's clock.

    If no such time is stored, return the time of the newest change. If there is no change, return None. Stores of an
    earlier version, and stores that only `domogate` commands have used, have no such time.
    """
    found = connection.execute(_LAST_TIME).scalar()
    return found if found is not None else connection.execute(_NEWEST_CHANGE).scalar()


def check_clock(tx: Transaction, now: float, tolerance: float) -> float | None:
    last = find_last_time(tx.connection)
    if last is not None and abs(now - last) > tolerance:
        return last
    confirm_clock(tx, now)
    return None


def confirm_clock(tx: Transaction, now: float) -> None:
    tx.connection.execute(tx.upsert(clock), {"id": _ROW, "seen_at": now})
