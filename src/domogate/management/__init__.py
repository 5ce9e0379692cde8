"""The operators' HTTP API under /manage/v1."""

from domogate.management.services import Devices, DriverFacts, ManagementServices, Status
from domogate.management.surface import build

__all__ = ["Devices", "DriverFacts", "ManagementServices", "Status", "build"]
