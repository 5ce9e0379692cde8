"""The operators' HTTP API under /manage/v1."""

from domogate.management.services import Backup, Devices, DriverFacts, ManagementServices
from domogate.management.status import SettingInForce, Status
from domogate.management.surface import build

__all__ = ["Backup", "Devices", "DriverFacts", "ManagementServices", "SettingInForce", "Status", "build"]
