"""The packages that the gateway needs: those that it declares, and what these need themselves."""

import re
import tomllib
from collections.abc import Iterable
from importlib.metadata import requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

Graph = dict[str, set[str]]
"""The names of the packages that each package needs directly."""
_PIN = re.compile(r"^([a-z0-9][a-z0-9.-]*)(?:\[[a-z,]+\])?==(\S+)", re.MULTILINE)

_HASH = re.compile(r"^ +--hash=sha256:([0-9a-f]{64})\b")


def read_lock(lock: Path) -> dict[str, str]:
    """Return the version of each package of a lock file."""
    return {canonicalize_name(name): version for name, version in _PIN.findall(lock.read_text())}


def read_hashes(lock: Path) -> dict[str, list[str]]:
    """Return the SHA-256 of each file that a lock file allows, by the name of the package."""
    found: dict[str, list[str]] = {}
    name = ""
    for line in lock.read_text().splitlines():
        if pin := _PIN.match(line):
            name = canonicalize_name(pin[1])
        elif digest := _HASH.search(line):
            found.setdefault(name, []).append(digest[1])
    return found


def read_declared(project: Path, extras: Iterable[str] = ()) -> list[str]:
    """Return the requirements that a pyproject.toml declares, with those of some extras."""
    declared = tomllib.loads(project.read_text())["project"]
    return [*declared["dependencies"], *(line for extra in extras for line in declared["optional-dependencies"][extra])]


def find_needed(requirements: Iterable[str]) -> Graph:
    """Return all packages that the requirements need on this machine. The metadata of the installed packages says it."""
    graph: Graph = {}
    waiting = [Requirement(line) for line in requirements]
    seen: set[tuple[str, str]] = set()
    while waiting:
        asked = waiting.pop()
        name = canonicalize_name(asked.name)
        if asked.marker is not None and not asked.marker.evaluate({"extra": ""}):
            continue
        needs = graph.setdefault(name, set())
        for extra in {"", *asked.extras}:
            if (name, extra) in seen:
                continue
            seen.add((name, extra))
            for further in map(Requirement, requires(name) or ()):
                if further.marker is None or further.marker.evaluate({"extra": extra}):
                    further.marker = None
                    needs.add(canonicalize_name(further.name))
                    waiting.append(further)
    return graph
