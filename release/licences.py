"""The licence of each package that the gateway uses, as an SPDX expression."""

import json
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

import msgspec

from release.building import CannotPackage

_SPDX = {
    "Apache 2 License": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "Apache-2.0": "Apache-2.0",
    "BSD-2-Clause": "BSD-2-Clause",
    "BSD-3-Clause": "BSD-3-Clause",
    "MIT": "MIT",
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
    sha512: str = ""
    """In hexadecimal digits. Empty if the package has several files."""


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


def list_python_parts(pins: dict[str, str]) -> list[Part]:
    """Return the packages of requirements.lock."""
    return [Part("pypi", name, version, find_licence(name)) for name, version in sorted(pins.items())]


def list_documentation_parts(pins: dict[str, str]) -> list[Part]:
    """Return the packages of requirements-dev.lock whose code is in the built documentation."""
    return list_python_parts({name: pins[name] for name in ("mkdocs-material",)})


def list_page_parts(lock: Path) -> list[Part]:
    """Return the packages whose code is in the pages: those of package-lock.json that are not only for development."""
    found = []
    for path, package in json.loads(lock.read_text())["packages"].items():
        if path and not package.get("dev"):
            digest = package["integrity"].removeprefix("sha512-")
            name = path.rpartition("node_modules/")[2]
            found.append(Part("npm", name, package["version"], package["license"], _to_hex(digest)))
    return sorted(found)


def _to_hex(base64: str) -> str:
    return msgspec.convert(base64, bytes).hex()


def write_list(parts: Iterable[Part]) -> str:
    """Return the list of licences as text: one line for each package."""
    lines = ["Domogate uses these packages of other projects: ecosystem, name, version, licence.", ""]
    return "\n".join([*lines, *(f"{one.ecosystem}  {one.name}  {one.version}  {one.licence}" for one in parts), ""])
