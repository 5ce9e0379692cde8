"""The operators' HTTP API under /manage/v1.

The names of this package are imported when they are first used (Decision 0098).
"""

from typing import TYPE_CHECKING

from domogate.common.late_imports import late_names

if TYPE_CHECKING:
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

__getattr__ = late_names(
    __name__,
    {
        "services": ("Backup", "Devices", "DriverConnectionOut", "DriverFactsOut", "ManagementServices"),
        "status": ("SettingOut", "SettingSource", "Status"),
        "surface": ("SURFACE",),
    },
)
