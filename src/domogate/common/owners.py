"""The owners of files, and the user of this process, for messages about missing rights."""

import os
from pathlib import Path
from shlex import quote

_ROOT = 0


def name_user(number: int) -> str:
    """Return the name of a user of this machine. A user without a name is written as `#` and the number: sudo accepts this
    form.
    """
    try:
        import pwd
    except ImportError:  # Windows
        return f"#{number}"
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"#{number}"


def find_foreign_owner(folder: Path) -> str | None:
    """Return the owner of the folder if this process runs as root and the folder belongs to another user.

    Otherwise, or if the folder does not exist, return None. If root creates files in this folder, its owner cannot read them.
    """
    if not hasattr(os, "geteuid") or os.geteuid() != _ROOT or not folder.is_dir():
        return None
    owner = folder.stat().st_uid
    return None if owner == _ROOT else name_user(owner)


def describe_denied(path: Path) -> str:
    """Return a sentence that names the owner of a file and the user of this process.

    If this process cannot see the file, the sentence names the owner of the nearest visible folder above the file. The result
    is empty if the owner is the user of this process, and on Windows.
    """
    found = _find_seen(path)
    if found is None or found.stat().st_uid == os.geteuid():
        return ""
    what, owner = "It" if found == path else f"The folder {found}", name_user(found.stat().st_uid)
    return f"{what} belongs to the user {owner}, and this program runs as the user {name_user(os.geteuid())}."


def advise_denied(path: Path) -> str:
    """Return advice for the operator: what to do so that this process may use the file `path` of the data folder."""
    found = _find_seen(path)
    if found is None:
        return "Run this program as the owner of the data folder."
    owner, own = found.stat().st_uid, os.geteuid()
    if owner == own:
        return f"Give its owner the right to read and write it: chmod u+rwX {quote(str(found))}"
    if owner != _ROOT:
        return f"Run this program as the user {name_user(owner)}: sudo -u {quote(name_user(owner))} domogate ..."
    owner_of_folder = path.parent.stat().st_uid if found == path else _ROOT
    user = name_user(own if owner_of_folder == _ROOT else owner_of_folder).removeprefix("#")
    return f"As root, give the files to the user of the gateway: chown -R {user}: {quote(str(path.parent.absolute()))}"


def advise_writable(folder: Path) -> str:
    """Return advice for the operator: what to do if this process cannot write to the data folder."""
    return (
        f"Domogate must be able to write to its data folder {folder}. Check the rights on the folder, whether it is mounted "
        "read-only, and the free space on its disk. Or choose another folder with --data."
    )


def _find_seen(path: Path) -> Path | None:
    """Return the path if this process can see it. Otherwise return the nearest folder above it that this process can see.

    Return None on Windows, where the owner of a file is not a number.
    """
    if not hasattr(os, "geteuid"):  # Windows has no such owners.
        return None
    for one in (path, *path.absolute().parents):
        try:
            one.stat()
        except OSError:
            continue
        return one
    return None
