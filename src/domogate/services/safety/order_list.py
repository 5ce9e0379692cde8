"""Lists the spare parts that must be ordered to repair the present failures.

The list is computed from the failures that E18 returns and the spare parts that E19 returns.
"""

from collections.abc import Iterable, Mapping

import msgspec

from domogate.domain.ids import Id
from domogate.domain.safety import Failure, FailureType, SparePart, SpareParts, SparePartType
from domogate.services.safety.site import SafetySite

PART_FOR: dict[FailureType, SparePartType] = {
    FailureType.BLOCK_FAULTY_BATTERY: SparePartType.BATTERY,
    FailureType.BLOCK_DISCONNECTED_BATTERY: SparePartType.BATTERY,
    FailureType.REMOTE_BATTERY_FAULT: SparePartType.BATTERY,
    FailureType.BLOCK_FAULTY_EMERGENCY_LIGHT: SparePartType.EMERGENCY_LAMP,
}
"""The type of the part that repairs a failure. Spec 2.15 has only two types of parts, so other failures are not listed here."""


class Need(msgspec.Struct, frozen=True):
    """A unit or controller that needs a part, and the failures that this part repairs."""

    module_id: Id
    name: str
    place: str
    reference: str
    part: SparePartType
    failures: tuple[FailureType, ...]


class OrderLine(msgspec.Struct, frozen=True):
    """One spare part that must be ordered. The quantity is a text, as in E19: the sum for all devices that need the part."""

    reference: str
    type: SparePartType
    quantity: str
    needs: tuple[Need, ...]


class OrderList(msgspec.Struct, frozen=True):
    """`lines` has the parts that must be ordered. `without_parts` has each `Need` for which the store lists no fitting part.

    Some failures have a type that is not in `PART_FOR`. No part repairs them, so they are neither in `lines` nor in
    `without_parts`.
    """

    lines: tuple[OrderLine, ...]
    without_parts: tuple[Need, ...]


def list_needs(site: SafetySite) -> list[Need]:
    """Return one `Need` for each part that a controller or unit needs. The units of a controller follow the controller."""
    needs: list[Need] = []
    for controller in site.controllers:
        device = controller.report
        needs += _needs(device.failures, device.id, device.name, controller.place, device.reference)
        for unit in controller.units:
            needs += _needs(unit.report.failures, unit.report.id, unit.name, unit.place, unit.report.reference)
    return needs


def _needs(failures: tuple[Failure, ...], module_id: Id, name: str, place: str, reference: str) -> list[Need]:
    """Return one `Need` for each type of part that repairs these failures."""
    calls_for: dict[SparePartType, dict[FailureType, None]] = {}
    for failure in failures:
        if failure.type in PART_FOR:
            calls_for.setdefault(PART_FOR[failure.type], {})[failure.type] = None
    return [Need(module_id, name, place, reference, part, tuple(types)) for part, types in calls_for.items()]


def order(needs: Iterable[Need], parts_of: Mapping[str, SpareParts | None]) -> OrderList:
    """Return the spare parts that must be ordered to repair these failures.

    `parts_of` has the spare parts for each unit reference (E19). It has None if no spare parts are stored for a unit reference.
    """
    wanted: dict[tuple[str, SparePartType], list[tuple[SparePart, Need]]] = {}
    without = []
    for need in needs:
        known = parts_of[need.reference]
        fitting = [] if known is None else [part for part in known.parts if part.type is need.part]
        for part in fitting:
            wanted.setdefault((part.reference, part.type), []).append((part, need))
        if not fitting:
            without.append(need)
    lines = [
        OrderLine(reference, type_, _add([part.quantity for part, _ in each]), tuple(dict.fromkeys(need for _, need in each)))
        for (reference, type_), each in wanted.items()
    ]
    return OrderList(tuple(sorted(lines, key=lambda line: (line.type, line.reference))), tuple(without))


def _add(quantities: list[str]) -> str:
    """Return the sum as a text.

    If a quantity is not a number, for example "a pair", the text says how many times this quantity is needed.
    """
    total = sum(int(text) for text in quantities if _is_number(text))
    others: dict[str, int] = {}
    for text in quantities:
        if not _is_number(text):
            others[text] = others.get(text, 0) + 1
    words = [f"{count} x {text}" for text, count in others.items()]
    return " + ".join([*([str(total)] if total or not words else []), *words])


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 9
