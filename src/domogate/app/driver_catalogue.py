"""The drivers as forms of the management API need them."""

from collections.abc import Mapping
from typing import Any

from domogate.domain.devices import DeviceKind
from domogate.drivers import DRIVERS
from domogate.drivers.declaration import DriverSettings
from domogate.management import DriverFacts


class DriverCatalogue:
    """Describes the drivers, with the connections of these settings."""

    def __init__(self, settings: Mapping[str, DriverSettings]) -> None:
        self._settings = settings

    def find(self, driver: str) -> DriverFacts | None:
        declared = DRIVERS.get(driver)
        if declared is None:
            return None
        connections = declared.connections
        return DriverFacts(
            name=declared.name,
            simulated=declared.simulated,
            kinds=tuple(kind for kind in DeviceKind if declared.describe_options(kind) is not None),
            connection_option=None if connections is None else connections.option,
            connections=() if connections is None else tuple(connections.names(declared.settings_in(self._settings))),
        )

    def options_schema(self, driver: str, kind: DeviceKind) -> dict[str, Any] | None:
        declared = DRIVERS.get(driver)
        return None if declared is None else declared.options_schema(kind, declared.settings_in(self._settings))
