"""Drives devices: one object for each driven plant, one supervisor of the drivers, one recorder of their reports."""

from domogate.services.driving.host import Driving
from domogate.services.driving.supervisor import DriverHealth

__all__ = ["DriverHealth", "Driving"]
