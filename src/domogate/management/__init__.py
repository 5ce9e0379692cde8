"""The operators' HTTP API under /manage/v1."""

from domogate.management.services import Devices, ManagementServices, Status
from domogate.management.surface import build

__all__ = ["Devices", "ManagementServices", "Status", "build"]
