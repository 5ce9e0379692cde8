"""The port for stored connections of drivers, for example to an MQTT broker. Operators set them in the console."""

from collections.abc import Sequence
from typing import Protocol

import msgspec


class DriverConnection(msgspec.Struct, frozen=True):
    """The connection of a driver: the URL of the server, and the credentials with which the gateway logs in."""

    driver: str
    url: str
    username: str | None = None
    password: str | None = None

    def __repr__(self) -> str:
        return f"DriverConnection({self.driver!r}, {self.url!r})"  # without the password


class ConnectionStore(Protocol):
    """Stores connections of drivers.

    The store has at most one connection for each driver. If the settings also list connections of this driver, the stored
    connection is not used.
    """

    async def list_connections(self) -> Sequence[DriverConnection]: ...

    async def set_connection(self, connection: DriverConnection) -> None:
        """Add the connection, or replace the connection of the same driver."""
        ...

    async def delete_connection(self, driver: str) -> bool:
        """Delete the connection of this driver. Return False if the store has no connection of this driver."""
        ...
