"""Drivers by name. A new driver is one file (or folder) here and one name in this list."""

from collections.abc import Callable, Mapping
from typing import Any

from domogate.drivers.simulator import Simulator
from domogate.ports import Clock, Driver

DRIVERS: dict[str, Callable[..., Driver]] = {
    Simulator.name: Simulator,
}


def build_drivers(clock: Clock, arguments: Mapping[str, Mapping[str, Any]]) -> dict[str, Driver]:
    """One of each, with the arguments that its constructor takes besides the clock."""
    return {name: build(clock, **arguments.get(name, {})) for name, build in DRIVERS.items()}
