"""Simulated plants. They need no hardware, change over time, and behave in the same way for the same seed, clock and orders."""

from typing import Annotated

from domogate.common.checks import between, positive
from domogate.drivers.declaration import DriverDeclaration, DriverSettings, Setting
from domogate.drivers.simulator.day import DaySample, simulate_day_of
from domogate.drivers.simulator.found import discover
from domogate.drivers.simulator.options import describe_options, find_option_problems
from domogate.drivers.simulator.simulator import Simulator

__all__ = ["DRIVER", "DaySample", "Simulator", "SimulatorSettings", "simulate_day_of"]


class SimulatorSettings(DriverSettings, frozen=True):
    seed: Annotated[int, Setting("NUMBER", "The same seed gives the same simulated behaviour.", between(0, (1 << 63) - 1))] = 1
    tick: Annotated[float, Setting("SECONDS", "Seconds between two changes of simulated devices.", positive)] = 5.0
    speed: Annotated[
        float,
        Setting(
            "NUMBER", "How many times faster than real time simulated plants run.", between(0.01, 10_000), short_flag="--speed"
        ),
    ] = 1.0


DRIVER = DriverDeclaration(
    Simulator.name,
    SimulatorSettings,
    lambda clock, settings: Simulator(clock, seed=settings.seed, tick=settings.tick, speed=settings.speed),
    find_option_problems,
    describe_options=describe_options,
    discover=lambda _settings, _name, _seconds, _base: discover(),
    simulated=True,
)
