"""Where the drivers live: which plants they drive, what they are told and asked, what they say, and who looks after them."""

from domogate.services.driving.host import Driving
from domogate.services.driving.supervisor import DriverHealth

__all__ = ["DriverHealth", "Driving"]
