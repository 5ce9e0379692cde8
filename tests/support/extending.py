"""Copies of the package, to which tests apply the code of a page in docs/extending."""

import shutil
from pathlib import Path

import domogate


def copy_package(target: Path) -> None:
    """Copy the sources with their compiled files, which stay valid: to compile all of them again takes seconds.

    Another process may write a compiled file at the same time; its temporary name ends with a number.
    """
    shutil.copytree(Path(domogate.__file__).parent, target, ignore=shutil.ignore_patterns("*.pyc.*", "static", "site"))
