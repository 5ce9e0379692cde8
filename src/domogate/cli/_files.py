"""Files that commands write. A file is written completely or not at all.

`open_output` and `write_file` replace an existing file. So a command that has a flag --force calls `check_free` first:
`check_free` refuses an existing file if the user did not give --force. The command `backup` also has the flag
--replace-larger: it includes --force, and also replaces a backup with more content than the new backup.
"""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, BinaryIO

from domogate.cli._command import Mistake
from domogate.cli._options import flag

Force = Annotated[bool, flag("--force", "Replace the file if it exists.")]
ForceFiles = Annotated[bool, flag("--force", "Replace files that exist.")]
"""The flag --force of a command that writes several files."""


def check_free(path: Path | None, force: bool) -> None:
    if path is not None and path.exists() and not force:
        raise Mistake(f"{path} already exists; --force replaces it.")


def check_folder(path: Path) -> None:
    folder = path.absolute().parent
    if not folder.is_dir():
        raise Mistake(f"there is no folder {folder}.")


@contextmanager
def open_output(path: Path | None) -> Iterator[BinaryIO]:
    """Yield a new file that only its owner can read. The complete file gets the name `path` and replaces an older file.

    Without a path, yield standard output. Raises Mistake if the folder of the file does not exist.
    """
    if path is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    check_folder(path)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_file(path: Path, text: str) -> None:
    with open_output(path) as file:
        file.write(text.encode())
