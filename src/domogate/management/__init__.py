"""The operators' HTTP API under /manage/v1."""

from domogate.management.services import Backup, Devices, DriverConnectionOut, DriverFactsOut, ManagementServices
from domogate.management.status import SettingOut, SettingSource, Status
from domogate.management.surface import SURFACE

__all__ = [
    "SURFACE",
    "Backup",
    "Devices",
    "DriverConnectionOut",
    "DriverFactsOut",
    "ManagementServices",
    "SettingOut",
    "SettingSource",
    "Status",
]
