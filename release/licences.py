"""The licence of each package that the gateway uses, as an SPDX expression."""

import json
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

import msgspec

from release.building import CannotPackage
from release.dependencies import read_hashes, read_lock

_SPDX = {
    "Apache 2 License": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "Apache-2.0": "Apache-2.0",
    "BSD-2-Clause": "BSD-2-Clause",
    "3-Clause BSD License": "BSD-3-Clause",
    "BSD-3-Clause": "BSD-3-Clause",
    "MIT": "MIT",
    "MPL-2.0": "MPL-2.0",
    "PSF-2.0": "PSF-2.0",
    "PSFL": "PSF-2.0",
}
"""The SPDX expression for a text in the field License, which older packages use."""
_READ_IN_ITS_LICENCE_FILE = {
    "jinja2": "BSD-3-Clause",
    "pyasn1-modules": "BSD-2-Clause",
    "segno": "BSD-3-Clause",
    "uvloop": "MIT OR Apache-2.0",
}
"""The licences of packages whose metadata do not name one exact licence."""


class Part(msgspec.Struct, frozen=True, order=True):
    """A package of another project that the gateway uses."""

    ecosystem: str
    """The type of a package URL: pypi or npm."""
    name: str
    version: str
    licence: str
    algorithm: str
    """The algorithm of the hashes: SHA-256 or SHA-512."""
    hashes: tuple[str, ...]
    """The hashes of the lock file, in hexadecimal digits. A package of Python has one for each of its files."""


def find_licence(name: str) -> str:
    """Return the licence of an installed Python package. Raises CannotPackage if the package names no exact licence."""
    try:
        fields = metadata(name).json
    except PackageNotFoundError:
        raise CannotPackage(f"{name} is in requirements.lock, but it is not installed; run ./dev test once.") from None
    stated, older = (str(fields.get(field, "")) for field in ("license_expression", "license"))
    licence = stated or _READ_IN_ITS_LICENCE_FILE.get(name) or _SPDX.get(older)
    if licence is None:
        raise CannotPackage(f"the metadata of {name} name no SPDX licence. Read its licence file, and add it to {__name__}.")
    return licence


def list_python_parts(lock: Path, names: Iterable[str] | None = None) -> list[Part]:
    """Return the packages of a lock file, or some of them. Raises CannotPackage if a package has no hash."""
    pins, hashes = read_lock(lock), read_hashes(lock)
    found = []
    for name in sorted(pins if names is None else names):
        if name not in hashes:
            raise CannotPackage(f"{lock.name} has no hash of {name}; run ./dev lock.")
        found.append(Part("pypi", name, pins[name], find_licence(name), "SHA-256", tuple(sorted(hashes[name]))))
    return found


def list_documentation_parts(lock: Path) -> list[Part]:
    """Return the packages of requirements-dev.lock whose code is in the built documentation."""
    return list_python_parts(lock, ["mkdocs-material"])


def list_page_parts(lock: Path) -> list[Part]:
    """Return the packages whose code is in the pages: those of package-lock.json that are not only for development."""
    found = []
    for path, package in json.loads(lock.read_text())["packages"].items():
        if path and not package.get("dev"):
            digest = package["integrity"].removeprefix("sha512-")
            name = path.rpartition("node_modules/")[2]
            found.append(Part("npm", name, package["version"], package["license"], "SHA-512", (_to_hex(digest),)))
    return sorted(found)


def _to_hex(base64: str) -> str:
    return msgspec.convert(base64, bytes).hex()


def write_list(parts: Iterable[Part]) -> str:
    """Return the list of licences as text: one line for each package."""
    lines = ["Domogate uses these packages of other projects: ecosystem, name, version, licence.", ""]
    return "\n".join([*lines, *(f"{one.ecosystem}  {one.name}  {one.version}  {one.licence}" for one in parts), ""])
