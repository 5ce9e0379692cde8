"""Drives devices: one object per driven plant, one supervisor for the drivers, one recorder for their reports."""

from domogate.services.driving.host import Driving
from domogate.services.driving.supervisor import DriverHealth

__all__ = ["DriverHealth", "Driving"]
