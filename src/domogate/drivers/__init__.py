"""The list of drivers. A new driver is one folder in `drivers/` and one name in this list (docs/extending/driver.md)."""

from collections.abc import Mapping
from typing import Any

from domogate.domain.plants import SIMULATED_DRIVERS
from domogate.drivers import mqtt, openwebnet, simulator
from domogate.drivers.declaration import DeclaredSetting, DriverDeclaration, DriverSettings, OptionCheck
from domogate.drivers.late import LateDriver
from domogate.ports import Clock, Driver

_LIST: tuple[DriverDeclaration[Any], ...] = (simulator.DRIVER, mqtt.DRIVER, openwebnet.DRIVER)

DRIVERS: dict[str, DriverDeclaration[Any]] = {driver.name: driver for driver in _LIST}
# The domain has its own list of the simulated drivers, because it must not import the drivers.
assert {name for name, driver in DRIVERS.items() if driver.simulated} == SIMULATED_DRIVERS


def check_options(settings: Mapping[str, DriverSettings]) -> dict[str, OptionCheck]:
    """Return for each driver the function that checks the options of a module.

    Each function accepts only the names of brokers and OpenWebNet gateways that are in `settings`. It accepts every name if
    `settings` lists no broker or gateway for its driver.
    """

    def check_with(driver: DriverDeclaration[Any]) -> OptionCheck:
        return lambda kind, options: driver.check_options(driver.settings_in(settings))(kind, options)

    return {name: check_with(driver) for name, driver in DRIVERS.items()}


SETTINGS: dict[str, DeclaredSetting] = {
    setting.name: setting for driver in DRIVERS.values() for setting in driver.list_settings()
}


def build_drivers(clock: Clock, settings: Mapping[str, DriverSettings]) -> dict[str, Driver]:
    """Build one object of each driver. A driver for which `settings` has no entry gets its default settings.

    A driver may need connections (brokers or OpenWebNet gateways). If its settings list none, its object is a `LateDriver`.
    This object builds the driver when a plant is first attached to it.
    """

    def build(driver: DriverDeclaration[Any]) -> Driver:
        own = driver.settings_in(settings)
        if driver.connections is None or driver.connections.names(own):
            return driver.build(clock, own)
        return LateDriver(driver.name, lambda: driver.build(clock, own))

    return {name: build(driver) for name, driver in DRIVERS.items()}


def separate_settings(settings: Mapping[str, DriverSettings]) -> dict[str, DriverSettings]:
    """Return the settings of the drivers for one gateway of a cluster.

    Some values must differ between the gateways, for example the client id at a broker. `DriverDeclaration.separate` changes
    them.
    """
    return {name: DRIVERS[name].separate(one) for name, one in settings.items()}


def make_settings(values: Mapping[str, Any]) -> dict[str, DriverSettings]:
    """Return the settings of each driver.

    The keys of `values` are full names of settings, such as `simulator_seed`. A missing setting gets its default value.
    """
    return {
        name: driver.settings(**{one.field: values[one.name] for one in driver.list_settings() if one.name in values})
        for name, driver in DRIVERS.items()
    }
