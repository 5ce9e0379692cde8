"""Builds the source packages and the wheels. The same commit always gives the same bytes (Decision 0124)."""

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROJECTS = (".", "clients/python", "clients/pytest-domogate")
"""The folders with a pyproject.toml, below the root of the checkout."""
_BUILD_DEADLINE = 300.0


class CannotPackage(Exception):
    """The packages cannot be made or are wrong. The message says what to change."""


def time_of_last_commit(checkout: Path = ROOT) -> datetime:
    """Return the time of the last commit. It is the time of all files in the packages."""
    return datetime.fromtimestamp(int(_git(checkout, "log", "-1", "--format=%ct")), UTC)


def list_uncommitted(checkout: Path = ROOT) -> list[str]:
    """Return the files that differ from the last commit."""
    return _git(checkout, "status", "--porcelain").splitlines()


def build(checkout: Path, target: Path, when: datetime, projects: Iterable[str] = PROJECTS) -> list[Path]:
    """Build the source package of each project, and its wheel from the source package. Return the files."""
    target.mkdir(parents=True, exist_ok=True)
    made: list[Path] = []
    for project in projects:
        source = _run_backend(checkout / project, target, when, "sdist")
        made += [source, build_from_source(source, target, when)]
    return made


def unpack(source: Path, folder: Path) -> None:
    with tarfile.open(source) as archive:
        # Early releases of Python 3.11 have no filters. Our own archives need none.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(folder)


def build_from_source(source: Path, target: Path, when: datetime) -> Path:
    """Build the wheel from a source package, as pip does if there is no wheel. Return the wheel."""
    with tempfile.TemporaryDirectory(prefix="domogate-package-") as folder:
        unpack(source, Path(folder))
        (unpacked,) = Path(folder).iterdir()
        return _run_backend(unpacked, target, when, "wheel")


def build_wheel(project: Path, target: Path, when: datetime) -> Path:
    """Build the wheel from a checkout. Return the wheel."""
    return _run_backend(project, target, when, "wheel")


def _run_backend(project: Path, target: Path, when: datetime, kind: str) -> Path:
    """Run the pinned build backend of the environment of ./dev. No package is downloaded."""
    with tempfile.TemporaryDirectory(prefix="domogate-package-") as folder:
        told = subprocess.run(
            [sys.executable, "-m", "hatchling", "build", "--target", kind, "--directory", folder],
            cwd=project,
            env={**os.environ, "SOURCE_DATE_EPOCH": str(int(when.timestamp()))},
            capture_output=True,
            text=True,
            check=False,
            timeout=_BUILD_DEADLINE,
        )
        if told.returncode:
            raise CannotPackage(f"the {kind} of {project} cannot be built:\n{told.stdout}{told.stderr}")
        (made,) = Path(folder).iterdir()
        return Path(shutil.copy(made, target))


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_hashes(files: Iterable[Path], target: Path) -> Path:
    """Write the hashes of the files to SHA256SUMS, in the format of sha256sum."""
    path = target / "SHA256SUMS"
    path.write_text("".join(f"{hash_file(file)}  {file.name}\n" for file in sorted(files)))
    return path


def _git(checkout: Path, *command: str) -> str:
    told = subprocess.run(["git", *command], cwd=checkout, capture_output=True, text=True, check=False, timeout=60)
    if told.returncode:
        raise CannotPackage(f"packages are built from a git checkout: {told.stderr.strip()}")
    return told.stdout.strip()
