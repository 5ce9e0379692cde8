"""Simulated plants: no hardware needed, alive, and the same in every run with the same seed, clock and orders."""

from domogate.drivers.simulator.day import Moment, live_a_day
from domogate.drivers.simulator.options import find_option_problems
from domogate.drivers.simulator.simulator import Simulator

__all__ = ["Moment", "Simulator", "find_option_problems", "live_a_day"]
