"""The drivers as forms of the management API need them."""

import asyncio
from collections.abc import Mapping
from typing import Any

from domogate.domain.devices import DeviceKind
from domogate.domain.discovery import Discovery
from domogate.drivers import DRIVERS
from domogate.drivers.declaration import DriverSettings
from domogate.management import DriverFactsOut
from domogate.services.refusals import Conflict, Invalid


class DriverCatalogue:
    """Describes the drivers, with the connections of these settings."""

    def __init__(self, settings: Mapping[str, DriverSettings]) -> None:
        self._settings = settings
        self._searching = asyncio.Lock()

    def find(self, driver: str) -> DriverFactsOut | None:
        declared = DRIVERS.get(driver)
        if declared is None:
            return None
        connections = declared.connections
        return DriverFactsOut(
            name=declared.name,
            simulated=declared.simulated,
            kinds=tuple(kind for kind in DeviceKind if declared.describe_options(kind) is not None),
            connection_option=None if connections is None else connections.option,
            connections=() if connections is None else tuple(connections.names(declared.settings_in(self._settings))),
            can_discover=declared.discover is not None,
        )

    def options_schema(self, driver: str, kind: DeviceKind) -> dict[str, Any] | None:
        declared = DRIVERS.get(driver)
        return None if declared is None else declared.options_schema(kind, declared.settings_in(self._settings))

    async def discover(self, driver: str, connection: str | None, seconds: float, base: str | None) -> Discovery:
        declared = DRIVERS.get(driver)
        if declared is None or declared.discover is None:
            able = ", ".join(one.name for one in DRIVERS.values() if one.discover is not None)
            raise Invalid(f"No driver {driver!r} can find devices; this driver can: {able}.")
        if self._searching.locked():
            raise Conflict("Another search is running. Try again when it has ended.")
        async with self._searching:
            return await declared.discover(declared.settings_in(self._settings), connection, seconds, base)
