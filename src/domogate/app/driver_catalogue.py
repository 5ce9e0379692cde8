"""The drivers and their connections, for the management API."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from domogate.common.log import get_logger
from domogate.common.tasks import cancel
from domogate.domain.devices import DeviceKind
from domogate.domain.discovery import Discovery
from domogate.domain.events import Change, ChangesLost, DriverConnectionChanged
from domogate.domain.faults import sentence
from domogate.drivers import DRIVERS
from domogate.drivers.declaration import DriverDeclaration, DriverSettings
from domogate.ports import Clock, ConnectionStore, Driver, DriverConnection
from domogate.services.refusals import Conflict, Invalid, NotFound, Reason

if TYPE_CHECKING:
    from domogate.management import DriverFactsOut

_log = get_logger(__name__)

_TEST = 0.1
"""In seconds. To test a connection, the gateway searches for devices for this time."""
_RETRY = 5.0
"""In seconds. If the store fails when changed connections are read, they are read again after this time."""


class DriverCatalogue:
    """Describes the drivers, and applies the connections that operators set in the console, without a restart.

    If the settings list connections of a driver, a connection of this driver from the console is not used.
    """

    def __init__(
        self,
        given: Mapping[str, DriverSettings],
        store: ConnectionStore,
        clock: Clock,
        replace_driver: Callable[[str, Driver], Awaitable[None]],
    ) -> None:
        self._given = given
        self._store = store
        self._clock = clock
        self._replace_driver = replace_driver
        self.settings: dict[str, DriverSettings] = dict(given)
        """The settings of each driver, with the connections from the console."""
        self._connections: dict[str, DriverConnection] = {}
        self._searching = asyncio.Lock()
        self._loading = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        await self._load()

    async def stop(self) -> None:
        await cancel(*self._tasks)

    def apply(self, changes: Sequence[Change]) -> None:
        """If a connection of a driver changed, or may have changed, read the connections from the store, in the background.

        This method is a listener of the store.
        """
        if any(isinstance(change.event, DriverConnectionChanged | ChangesLost) for change in changes):
            task = asyncio.create_task(self._load_until_read(), name="load connections of drivers")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def find(self, driver: str) -> "DriverFactsOut | None":
        from domogate.management import DriverConnectionOut, DriverFactsOut  # imported by the caller, the management API

        declared = DRIVERS.get(driver)
        if declared is None:
            return None
        connections = declared.connections
        stored = self._connections.get(driver)
        return DriverFactsOut(
            name=declared.name,
            simulated=declared.simulated,
            kinds=tuple(kind for kind in DeviceKind if declared.describe_options(kind) is not None),
            connection_option=None if connections is None else connections.option,
            connections=() if connections is None else tuple(connections.names(declared.settings_in(self.settings))),
            can_discover=declared.discover is not None,
            can_set_connection=_can_set_connection(declared) and not self._is_in_settings(declared),
            connection=None if stored is None else DriverConnectionOut.of(stored, has_password=stored.password is not None),
        )

    def options_schema(self, driver: str, kind: DeviceKind) -> dict[str, Any] | None:
        declared = DRIVERS.get(driver)
        return None if declared is None else declared.options_schema(kind, declared.settings_in(self.settings))

    async def discover(self, driver: str, connection: str | None, seconds: float, base: str | None) -> Discovery:
        declared = DRIVERS.get(driver)
        if declared is None or declared.discover is None:
            able = ", ".join(one.name for one in DRIVERS.values() if one.discover is not None)
            raise Invalid(f"The driver {driver!r} cannot find devices; these drivers can: {able}.")
        return await self._search(declared, declared.settings_in(self.settings), connection, seconds, base)

    async def set_connection(self, connection: DriverConnection) -> None:
        """Test the connection, then store it and use it. If the test fails, nothing is stored."""
        declared = self._find_changeable(connection.driver)
        settings = _build_settings(declared, connection)
        await self._search(declared, settings, None, _TEST, None)
        await self._store.set_connection(connection)
        await self._load()

    async def delete_connection(self, driver: str) -> None:
        self._find_changeable(driver)
        if not await self._store.delete_connection(driver):
            raise NotFound(f"No connection of the driver {driver} was set in the console.")
        await self._load()

    async def _search(
        self,
        declared: DriverDeclaration[Any],
        settings: DriverSettings,
        connection: str | None,
        seconds: float,
        base: str | None,
    ) -> Discovery:
        assert declared.discover is not None
        if self._searching.locked():
            raise Conflict("Another search is running. Try again when it has ended.", Reason.ALREADY_RUNNING)
        async with self._searching:
            return await declared.discover(settings, connection, seconds, base)

    def _find_changeable(self, driver: str) -> DriverDeclaration[Any]:
        declared = DRIVERS.get(driver)
        if declared is None or not _can_set_connection(declared):
            able = ", ".join(one.name for one in DRIVERS.values() if _can_set_connection(one))
            raise NotFound(f"The connection of the driver {driver!r} cannot be set here; this is possible for: {able}.")
        if self._is_in_settings(declared):
            raise Conflict(
                f"The settings of the gateway list the connections of the driver {driver}. Change them there.",
                Reason.SET_IN_SETTINGS,
            )
        return declared

    def _is_in_settings(self, declared: DriverDeclaration[Any]) -> bool:
        return declared.connections is not None and bool(declared.connections.names(declared.settings_in(self._given)))

    async def _load_until_read(self) -> None:
        while True:
            try:
                return await self._load()
            except Exception:
                _log.exception("connections of drivers not read; trying again", seconds=_RETRY)
                await asyncio.sleep(_RETRY)

    async def _load(self) -> None:
        """Read the stored connections. If the connection of a driver changed, the driver is replaced by a new driver."""
        async with self._loading:
            stored = {one.driver: one for one in await self._store.list_connections()}
            for name, declared in DRIVERS.items():
                if not _can_set_connection(declared) or self._is_in_settings(declared):
                    continue
                before, after = self._connections.get(name), stored.get(name)
                if before == after:
                    continue
                try:
                    settings = declared.settings() if after is None else _build_settings(declared, after)
                except Invalid as wrong:
                    _log.error("connection from the console not used", driver=name, why=str(wrong))
                    continue
                self.settings[name] = settings
                await self._replace_driver(name, declared.build(self._clock, settings))
                if after is None:
                    del self._connections[name]
                else:
                    self._connections[name] = after


def _can_set_connection(declared: DriverDeclaration[Any]) -> bool:
    return declared.connections is not None and declared.connections.build is not None and declared.discover is not None


def _build_settings(declared: DriverDeclaration[Any], connection: DriverConnection) -> DriverSettings:
    assert declared.connections is not None
    assert declared.connections.build is not None
    try:
        built: DriverSettings = declared.connections.build(connection.url, connection.username, connection.password)
    except ValueError as wrong:
        raise Invalid(sentence(str(wrong))) from None
    return built
