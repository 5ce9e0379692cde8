"""Where things are on a bus. The same point may be written in several ways; here each has one (OpenWebNet, WHO 1, 2, 4, 18)."""

import re
from enum import Enum

import msgspec

_BUS = re.compile(r"(#?)([0-9]{1,4})(?:#3|#4#([0-9]{1,2}))?")
_ZONE = re.compile(r"(?:#0#|#?)([0-9]{1,2})(?:#[0-9]+)*")
_METER = re.compile(r"([57][0-9]{1,3})(?:#0)?")


class Reach(Enum):
    """How much of a bus an address means."""

    POINT = "point"
    AREA = "area"
    GROUP = "group"
    GENERAL = "general"


class Where(msgspec.Struct, frozen=True, gc=False):
    """An address of lighting or automation: a point, or many at once."""

    reach: Reach
    area: int = 0
    point: int = 0
    """For a group: its number."""
    interface: str = ""
    """The local bus behind an interface, "01" to "15"; "" is the private riser."""

    @property
    def key(self) -> str:
        return f"{self.area}.{self.point}#{self.interface}"

    def concerns(self, point: "Where", groups: frozenset[int]) -> bool:
        """Whether what is said to this address is said to that point, which is of those groups."""
        if self.reach is Reach.POINT:
            return self == point
        if self.reach is Reach.GENERAL:
            return self.interface in ("", point.interface)  # without one it is the general of the whole system
        if self.interface != point.interface:
            return False
        return self.area == point.area if self.reach is Reach.AREA else self.point in groups


def parse_where(written: str) -> Where | None:
    """None where it is no address of lighting and automation."""
    match = _BUS.fullmatch(written)
    if match is None:
        return None
    group, digits, interface = match[1], match[2], f"{int(match[3]):02d}" if match[3] else ""
    if group:
        number = int(digits)
        return Where(Reach.GROUP, point=number, interface=interface) if 1 <= number <= 255 else None
    if digits == "0":
        return Where(Reach.GENERAL, interface=interface)
    if digits == "00" or len(digits) == 1:
        return Where(Reach.AREA, area=int(digits), interface=interface)
    if digits == "100":
        return Where(Reach.AREA, area=10, interface=interface)
    if len(digits) == 3:
        return None
    half = len(digits) // 2
    area, point = int(digits[:half]), int(digits[half:])
    return Where(Reach.POINT, area, point, interface) if area <= 10 and 1 <= point <= 15 else None


def parse_zone(written: str) -> int | None:
    """The zone of thermoregulation, written directly, through the central unit, or with an actuator; the central unit is 0."""
    match = _ZONE.fullmatch(written)
    if match is None or written == "0" or (len(match[1]) > 1 and match[1].startswith("0")):
        return None  # 0 is all probes together, and 00N the slaves of a zone
    return int(match[1])


def parse_meter(written: str) -> str | None:
    """The address of a meter or energy actuator, without the #0 that some put behind it."""
    match = _METER.fullmatch(written)
    return None if match is None else match[1]


def find_key(who: int, where: str) -> str | None:
    """What a frame with this WHO and WHERE is about, as devices' keys have it; None where it is about many or nothing."""
    match who:
        case 1 | 2:
            address = parse_where(where)
            return address.key if address is not None and address.reach is Reach.POINT else None
        case 4:
            zone = parse_zone(where)
            return None if zone is None else str(zone)
        case 18:
            return parse_meter(where)
        case _:
            return where
