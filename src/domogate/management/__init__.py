"""The operators' HTTP API under /manage/v1."""

from domogate.management.services import Devices, ManagementServices
from domogate.management.surface import build

__all__ = ["Devices", "ManagementServices", "build"]
