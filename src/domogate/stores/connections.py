"""Stores the connections of drivers that operators set in the console. The passwords are encrypted."""

from collections.abc import Sequence

from sqlalchemy import Connection, delete, select

from domogate.domain.events import DriverConnectionChanged
from domogate.ports import DriverConnection
from domogate.stores.codec import from_row, to_row
from domogate.stores.engine import Transaction
from domogate.stores.sealing import seal, unseal
from domogate.stores.tables.devices import driver_connections

_PASSWORD = driver_connections.c.password


def list_connections(connection: Connection) -> Sequence[DriverConnection]:
    rows = connection.execute(select(driver_connections).order_by(driver_connections.c.driver))
    return [from_row(DriverConnection, row, password=unseal(connection, _PASSWORD, row.driver, row.password)) for row in rows]


def set_connection(tx: Transaction, connection: DriverConnection) -> None:
    row = to_row(connection, password=seal(tx, _PASSWORD, connection.driver, connection.password))
    tx.connection.execute(tx.upsert(driver_connections), row)
    tx.emit(DriverConnectionChanged(driver=connection.driver))


def delete_connection(tx: Transaction, driver: str) -> bool:
    deleted = tx.connection.execute(delete(driver_connections).where(driver_connections.c.driver == driver)).rowcount > 0
    if deleted:
        tx.emit(DriverConnectionChanged(driver=driver))
    return deleted
