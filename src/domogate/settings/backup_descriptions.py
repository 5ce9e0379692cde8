"""The settings of the backups that a gateway makes by itself. `descriptions.py` has most other settings."""

from domogate.common.checks import between
from domogate.drivers.declaration import Setting
from domogate.settings.rules import check_folder

BACKUPS: dict[str, Setting] = {
    "backup_every": Setting(
        "SECONDS",
        "Time between two backups of the SQLite database, 60 to 31536000; 86400 is a day. Without this setting the gateway "
        "makes no backups by itself.",
        between(60, 31_536_000),
    ),
    "backup_keep": Setting("NUMBER", "How many of these backups are kept. The oldest are deleted.", between(1, 10_000)),
    "backup_folder": Setting(
        "DIR", "Folder of these backups. The default is the folder backups in the data folder.", check_folder
    ),
}
