"""Simulated plants. They need no hardware and change over time. With the same seed, their random choices are the same.

The code of the driver is imported when it is used (Decision 0098).
"""

from typing import Annotated

from domogate.common.checks import between, positive
from domogate.domain.discovery import Discovery
from domogate.drivers.declaration import DriverDeclaration, DriverSettings, Setting, lazy
from domogate.ports import Clock, Driver

__all__ = ["DRIVER", "SimulatorSettings"]


class SimulatorSettings(DriverSettings, frozen=True):
    seed: Annotated[int, Setting("NUMBER", "The same seed gives the same random choices.", between(0, (1 << 63) - 1))] = 1
    tick: Annotated[float, Setting("SECONDS", "Seconds between two changes of simulated devices.", positive)] = 5.0
    speed: Annotated[
        float,
        Setting(
            "NUMBER", "How many times faster than real time simulated plants run.", between(0.01, 10_000), short_flag="--speed"
        ),
    ] = 1.0


def _build(clock: Clock, settings: SimulatorSettings) -> Driver:
    from domogate.drivers.simulator.simulator import Simulator

    return Simulator(clock, seed=settings.seed, tick=settings.tick, speed=settings.speed)


async def _discover(_settings: SimulatorSettings, _name: str | None, _seconds: float, _base: str | None) -> Discovery:
    from domogate.drivers.simulator.found import discover

    return await discover()


DRIVER = DriverDeclaration(
    "simulator",
    SimulatorSettings,
    _build,
    lazy("domogate.drivers.simulator.options", "find_option_problems"),
    describe_options=lazy("domogate.drivers.simulator.options", "describe_options"),
    discover=_discover,
    simulated=True,
)
