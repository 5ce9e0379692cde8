"""Stores the URL of the gateway that started last on this store, in one row."""

from sqlalchemy import Connection, select

from domogate.stores.engine import Transaction
from domogate.stores.tables.feed import address

_ROW = "gateway"
_URL = select(address.c.url).where(address.c.id == _ROW)


def find_address(connection: Connection) -> str | None:
    found: str | None = connection.execute(_URL).scalar()
    return found


def set_address(tx: Transaction, url: str) -> None:
    tx.connection.execute(tx.upsert(address), {"id": _ROW, "url": url})
