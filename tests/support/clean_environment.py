"""A Python environment with one wheel, and with only those packages that the wheel declares."""

import subprocess
import sys
from importlib.metadata import distribution, distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from release.dependencies import find_needed


def make_clean_environment(folder: Path, wheel: Path) -> Path:
    """Install the wheel into a new environment. Link the packages that its metadata ask for from the environment of the tests.

    Code that imports a package that the wheel does not declare fails in this environment. Return the folder.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True, timeout=120)
    uv, python = Path(sys.executable).with_name("uv"), folder / "bin" / "python"
    options = ["--quiet", "--offline", "--no-config", "--no-deps", "--python", str(python)]
    subprocess.run([uv, "pip", "install", *options, wheel], check=True, timeout=120)
    (site,) = folder.glob("lib/python*/site-packages")
    (installed,) = distributions(path=[str(site)])
    link_needed_packages(folder, installed.name)
    return folder


def link_needed_packages(folder: Path, name: str) -> None:
    """Link the packages that an installed package asks for, except those that are installed there too."""
    (site,) = folder.glob("lib/python*/site-packages")
    (installed,) = distributions(path=[str(site)], name=name)
    present = {canonicalize_name(one.name) for one in distributions(path=[str(site)])}
    asked = [line for line in installed.requires or () if canonicalize_name(Requirement(line).name) not in present]
    for needed in find_needed(asked):
        if canonicalize_name(needed) not in present:
            _link(needed, site)


def _link(name: str, site: Path) -> None:
    package = distribution(name)
    for top in {file.parts[0] for file in package.files or ()} - {"..", "__pycache__"}:
        (site / top).symlink_to(str(package.locate_file(top)))
