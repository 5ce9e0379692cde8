"""Drivers by name. A new driver is one folder here, one entry in this list, and its arguments in `app/parts.py`."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from domogate.domain.devices import DeviceKind
from domogate.drivers import mqtt, openwebnet, simulator
from domogate.ports import Clock, Driver

OptionProblems = Callable[[DeviceKind, Mapping[str, Any]], Iterator[tuple[tuple[str | int, ...], str]]]
"""What is wrong with a module's options: where in them, and in words."""


class DriverKind(NamedTuple):
    """How a driver is made, and what it makes of options before it runs."""

    build: Callable[..., Driver]
    find_option_problems: OptionProblems


DRIVERS: dict[str, DriverKind] = {
    simulator.Simulator.name: DriverKind(simulator.Simulator, simulator.find_option_problems),
    mqtt.Mqtt.name: DriverKind(mqtt.Mqtt, mqtt.find_option_problems),
    openwebnet.OpenWebNet.name: DriverKind(openwebnet.OpenWebNet, openwebnet.find_option_problems),
}

OPTION_CHECKS: dict[str, OptionProblems] = {name: kind.find_option_problems for name, kind in DRIVERS.items()}


def build_drivers(clock: Clock, arguments: Mapping[str, Mapping[str, Any]]) -> dict[str, Driver]:
    """One of each, with the arguments that its constructor takes besides the clock."""
    return {name: kind.build(clock, **arguments.get(name, {})) for name, kind in DRIVERS.items()}
