"""The operators' HTTP API under /manage/v1."""

from domogate.management.services import Devices, DriverFacts, ManagementServices
from domogate.management.status import SettingInForce, Status
from domogate.management.surface import build

__all__ = ["Devices", "DriverFacts", "ManagementServices", "SettingInForce", "Status", "build"]
