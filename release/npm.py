"""Builds the package of the TypeScript client."""

import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from domogate import __version__
from release.building import CannotPackage

_CLIENT = "clients/typescript"
_DEADLINE = 300.0


def convert_version(version: str) -> str:
    """Return a version of Python in the form of npm: 0.1.0.dev0 becomes 0.1.0-dev.0, and 0.1.0rc1 becomes 0.1.0-rc.1."""
    return re.sub(r"^(\d+\.\d+\.\d+)\.?([a-z]+)(\d+)$", r"\1-\2.\3", version)


def build_npm(checkout: Path, target: Path) -> Path:
    """Compile the client and pack it with the version of the gateway. Return the package.

    `npm pack` gives all files in a package the same fixed time, so that two builds have the same bytes.
    """
    source = checkout / _CLIENT
    with tempfile.TemporaryDirectory(prefix="domogate-package-") as folder:
        package = Path(folder) / "package"
        package.mkdir()
        for file in (source / "README.md", checkout / "LICENSE"):
            shutil.copy(file, package)
        described = json.loads((source / "package.json").read_text())
        described["version"] = convert_version(__version__)
        del described["scripts"]  # They need the checkout.
        (package / "package.json").write_text(json.dumps(described, indent=2) + "\n")
        compiler = checkout / "web" / "node_modules" / "typescript" / "bin" / "tsc"
        _run(["node", str(compiler), "--outDir", str(package / "dist")], source)
        _run(["npm", "pack", "--ignore-scripts", "--silent", "--pack-destination", folder], package)
        (made,) = Path(folder).glob("*.tgz")
        return Path(shutil.copy(made, target))


def _run(command: Sequence[str], folder: Path) -> None:
    told = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=_DEADLINE)
    if told.returncode:
        raise CannotPackage(f"`{' '.join(command)}` failed:\n{told.stdout}{told.stderr}")
