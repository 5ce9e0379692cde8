"""Addresses on a bus.

The address of one device (a point) can be written in several ways. `find_key` returns the same key for all these ways. Sources:
the pages of the OpenWebNet documentation about WHO 1, 2, 4 and 18.
"""

import re
from enum import Enum

import msgspec

_BUS = re.compile(r"(#?)([0-9]{1,4})(?:#3|#4#([0-9]{1,2}))?")
_ZONE = re.compile(r"(?:#0#|#?)([0-9]{1,2})(?:#[0-9]+)*")
_METER = re.compile(r"([57][0-9]{1,3})(?:#0)?")


class Scope(Enum):
    """The part of a bus that an address stands for."""

    POINT = "point"
    AREA = "area"
    GROUP = "group"
    GENERAL = "general"


class Where(msgspec.Struct, frozen=True, gc=False):
    """An address of lighting or automation: one device (a point), or several devices (all, an area or a group)."""

    scope: Scope
    area: int = 0
    point: int = 0
    """The number of the point in its area. For a group, this is the number of the group."""
    interface: str = ""
    """The local bus behind an interface, "01" to "15". The main bus (private riser) is ""."""

    @property
    def key(self) -> str:
        return f"{self.area}.{self.point}#{self.interface}"

    def includes(self, point: "Where", groups: frozenset[int]) -> bool:
        """Whether a command to this address reaches `point`. `groups` are the groups to which the point belongs."""
        if self.scope is Scope.POINT:
            return self == point
        if self.scope is Scope.GENERAL:
            return self.interface in ("", point.interface)  # An address without an interface means the whole system.
        if self.interface != point.interface:
            return False
        return self.area == point.area if self.scope is Scope.AREA else self.point in groups


def parse_where(where_text: str) -> Where | None:
    """Return the address, or None if the text is not an address of lighting or automation."""
    match = _BUS.fullmatch(where_text)
    if match is None:
        return None
    group, digits, interface = match[1], match[2], f"{int(match[3]):02d}" if match[3] else ""
    if group:
        number = int(digits)
        return Where(Scope.GROUP, point=number, interface=interface) if 1 <= number <= 255 else None
    if digits == "0":
        return Where(Scope.GENERAL, interface=interface)
    if digits == "00" or len(digits) == 1:
        return Where(Scope.AREA, area=int(digits), interface=interface)
    if digits == "100":
        return Where(Scope.AREA, area=10, interface=interface)
    if len(digits) == 3:
        return None
    half = len(digits) // 2
    area, point = int(digits[:half]), int(digits[half:])
    return Where(Scope.POINT, area, point, interface) if area <= 10 and 1 <= point <= 15 else None


def parse_zone(where_text: str) -> int | None:
    """Return the number of the thermoregulation zone. The central unit is 0.

    The address of zone N can be written as N, #N, #0#N or N#actuator. Return None if the text is not such an address.
    """
    match = _ZONE.fullmatch(where_text)
    if match is None or where_text == "0" or (len(match[1]) > 1 and match[1].startswith("0")):
        return None  # 0 means all probes, and 00N the slaves of a zone.
    return int(match[1])


def parse_meter(where_text: str) -> str | None:
    """Return the address of a meter or energy actuator without the optional #0.

    Return None if the text is not such an address.
    """
    match = _METER.fullmatch(where_text)
    return None if match is None else match[1]


def find_key(who: int, where: str) -> str | None:
    """Return the key of the device that a frame with this WHO and WHERE is about.

    Return None if the frame is about many devices, or if WHERE is not an address. For a WHO other than 1, 2, 4 and 18, the key
    is WHERE.
    """
    match who:
        case 1 | 2:
            address = parse_where(where)
            return address.key if address is not None and address.scope is Scope.POINT else None
        case 4:
            zone = parse_zone(where)
            return None if zone is None else str(zone)
        case 18:
            return parse_meter(where)
        case _:
            return where
