"""Iterates over the records of an estate file whose content may be malformed. Malformed parts are skipped."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from domogate.domain.devices import DeviceKind
from domogate.estate.mistakes import Path

Record = dict[str, Any]

KINDS: dict[str | None, DeviceKind] = {str(kind): kind for kind in DeviceKind}


def records(parent: Record, key: str, path: Path = ()) -> Iterator[tuple[Path, Record]]:
    """Yield the mappings in the list under the key, each with its path."""
    items = parent.get(key)
    for index, item in enumerate(items if isinstance(items, list) else ()):
        if isinstance(item, dict):
            yield (*path, key, index), item


def texts(path: Path, parent: Record, key: str) -> Iterator[tuple[Path, str]]:
    items = parent.get(key)
    for index, item in enumerate(items if isinstance(items, list) else ()):
        if isinstance(item, str):
            yield (*path, key, index), item


def people_of(path: Path, plant: Record, key: str) -> Iterator[tuple[Path, str]]:
    """Yield the e-mail addresses under the key `allowed` or `invited`, including those of guests, each with its path."""
    yield from texts(path, plant, key)
    for at, guest in records(plant, key, path):
        if (email := text(guest, "email")) is not None:
            yield (*at, "email"), email


def text(record: Record, key: str) -> str | None:
    value = record.get(key)
    return value if isinstance(value, str) else None


def every_module(path: Path, plant: Record) -> Iterator[tuple[Path, Record]]:
    """Yield all modules of a plant, each with its path. The units of a controller directly follow the controller."""
    for floor_path, floor in records(plant, "floors", path):
        for ambient_path, ambient in records(floor, "ambients", floor_path):
            yield from _modules(ambient_path, ambient)
    for ambient_path, ambient in records(plant, "ambients", path):
        yield from _modules(ambient_path, ambient)
    yield from _modules(path, plant)


class Placed(NamedTuple):
    """A module and its path in the estate file. `kind` is None if its kind is missing or wrong (another check reports this)."""

    path: Path
    record: Record
    kind: DeviceKind | None


def place_modules(path: Path, plant: Record) -> list[Placed]:
    """Return all modules of a plant, each with its place in the estate file and its kind."""
    return [Placed(at, module, _kind_of(at, module)) for at, module in every_module(path, plant)]


def _kind_of(path: Path, module: Record) -> DeviceKind | None:
    """Return the kind of the module at the path, or None if the record has no valid kind.

    The record of a unit below its controller needs no kind. For such a record, the result is EMERGENCY_UNIT.
    """
    if path[-2] == "units":
        return DeviceKind.EMERGENCY_UNIT
    return KINDS.get(text(module, "kind"))


def driver_of(plant: Record, module: Record) -> str | None:
    """Return the driver that the module names, or else the driver of its plant. Return None if neither names a driver."""
    return text(module, "driver") or text(plant, "driver")


def _modules(path: Path, holder: Record) -> Iterator[tuple[Path, Record]]:
    for module_path, module in records(holder, "modules", path):
        yield module_path, module
        if "units" in module:
            yield from records(module, "units", module_path)
