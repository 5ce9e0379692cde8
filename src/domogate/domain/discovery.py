"""Devices that a driver found, as modules that an operator can place into rooms."""

from typing import Any

import msgspec

from domogate.domain.devices import DeviceKind
from domogate.domain.ids import Id


class FoundModule(msgspec.Struct, frozen=True):
    """A module that was found. Its id is computed from an identifier of the device, so every search gives the same id."""

    id: Id
    name: str
    kind: DeviceKind
    options: dict[str, Any]
    about: str = ""
    """The description that the device gives of itself, for the operator."""
    hardware: dict[str, Any] = {}
    """The hardware of the device as keys of the estate file.

    The field is empty for the default hardware of the kind. Example of other hardware: a lamp without colours.
    """


class SkippedDevice(msgspec.Struct, frozen=True):
    """An announced device that cannot be a module, and the reason."""

    name: str
    why: str


class Discovery(msgspec.Struct, frozen=True):
    """The result of a search for devices."""

    found: list[FoundModule]
    skipped: list[SkippedDevice]


class DiscoveryFailed(Exception):
    """The search was not possible. The message says why."""
