"""Refuses a command of root that would create files in the data folder of another user."""

import os
import shlex
import shutil
import sys
from pathlib import Path

from domogate.common.owners import find_foreign_owner
from domogate.settings import Settings

_PATH_OF_SUDO = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""The PATH that sudo sets on most systems."""


class OtherOwner(Exception):
    """Root must not write to the data folder, because it belongs to another user. The message has the command to run."""


def refuse_root(settings: Settings) -> None:
    """Raises OtherOwner if this process is root and another user owns the data folder or the SQLite file's folder.

    The gateway of this user could not read the files that root creates. A folder that does not exist is not refused.
    """
    from domogate.app.parts import find_database_file  # imports the database

    file = find_database_file(settings)
    for folder in dict.fromkeys((settings.data, *(() if file is None else (file.parent,)))):
        owner = find_foreign_owner(folder)
        if owner is not None:
            raise OtherOwner(
                f"the folder {folder.absolute()} belongs to the user {owner}, and this command runs as root."
                " The gateway could not read the files of root. Nothing was changed.\n"
                f"Run the command as this user:\n  {_as_user(owner)}"
            )


def _find_program() -> str:
    """Return the name of this program. If sudo would not find the name, return the path: sudo has a PATH of its own."""
    beside = Path(sys.executable).with_name("domogate")
    return "domogate" if shutil.which("domogate", path=_PATH_OF_SUDO) or not beside.exists() else str(beside)


def _as_user(owner: str) -> str:
    """Return the present command line with sudo, to run it as this user.

    sudo removes environment variables that its flag --preserve-env does not name. So the flag names the variables of Domogate.
    """
    variables = sorted(name for name in os.environ if name.startswith("DOMOGATE_"))
    keep = [f"--preserve-env={','.join(variables)}"] if variables else []
    return shlex.join(["sudo", "-u", owner, *keep, _find_program(), *sys.argv[1:]])
