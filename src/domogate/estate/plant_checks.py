"""Checks within one plant: time zone, limits of guests, scenes, programs of thermostats, units and their controllers."""

from collections.abc import Iterator, Sequence
from typing import Any

from domogate.common.times import find_time_zone
from domogate.domain.devices import DeviceKind
from domogate.estate.explain import Finding
from domogate.estate.format import STEP_KINDS
from domogate.estate.mistakes import Path, listed, quoted
from domogate.estate.records import Placed, records, text, texts
from domogate.estate.times import parse_time

Record = dict[str, Any]


def check_plant(path: Path, plant: Record, modules: Sequence[Placed]) -> Iterator[Finding]:
    by_id = {identity.lower(): module for module in modules if (identity := text(module.record, "id"))}
    if "removedAt" in plant and plant.get("status", "active") == "active":
        yield Finding((*path, "removedAt"), "the plant is not removed", "'removedAt' only with status removed", at_key=True)
    if plant.get("emergencyLighting") is False and any(it.kind is DeviceKind.EMERGENCY_CONTROLLER for it in modules):
        yield Finding((*path, "emergencyLighting"), "the plant holds emergency controllers", "true, or leave it out")
    if (zone := text(plant, "timeZone")) is not None and find_time_zone(zone) is None:
        yield Finding((*path, "timeZone"), f"there is no time zone {quoted(zone)}", "a name such as 'Europe/Rome'")
    for key in ("allowed", "invited"):
        for at, guest in records(plant, key, path):
            yield from _guest(at, guest, plant, modules)
    for module in modules:
        if module.kind is DeviceKind.SCENE:
            for step_path, step in records(module.record, "steps", module.path):
                yield from _step(step_path, step, by_id)
        elif module.kind is DeviceKind.CHRONOTHERMOSTAT:
            yield from _thermostat(module.path, module.record)
        elif module.kind is DeviceKind.EMERGENCY_UNIT:
            yield from _unit(module, by_id)


def _guest(path: Path, guest: Record, plant: Record, placed: Sequence[Placed]) -> Iterator[Finding]:
    """Check that the floors, ambients and modules of a guest are in the plant. Check that the access ends after it begins.

    Deleted floors, ambients and modules stay in the limits (Decision 0058). They are allowed if `deletedPlaces` names them.
    """
    deleted = {identity.lower() for _, identity in texts(path, guest, "deletedPlaces")}
    floors = [floor for _, floor in records(plant, "floors")]
    ambients = [ambient for holder in (*floors, plant) for _, ambient in records(holder, "ambients")]
    modules = [module.record for module in placed]
    for key, noun, existing in (("floors", "floor", floors), ("ambients", "ambient", ambients), ("modules", "module", modules)):
        known = deleted | {identity.lower() for record in existing if (identity := text(record, "id"))}
        for at, identity in texts(path, guest, key):
            if identity.lower() not in known:
                yield Finding(at, f"this plant has no {noun} {quoted(identity)}", f"the id of a {noun} of the same plant")
    begin, end = (parse_time(text(guest, key) or "") for key in ("validFrom", "validUntil"))
    if begin is not None and end is not None and end <= begin:
        yield Finding((*path, "validUntil"), "the access ends before it begins", "a time after validFrom")


def _unit(unit: Placed, by_id: dict[str, Placed]) -> Iterator[Finding]:
    identity = text(unit.record, "controller")
    if identity is None:
        return
    controller = by_id.get(identity.lower())
    if controller is None or controller.kind not in (None, DeviceKind.EMERGENCY_CONTROLLER):
        problem = f"{quoted(identity)} is not an emergency controller of this plant"
        yield Finding((*unit.path, "controller"), problem, "the id of a module of kind 'emergency controller'")


def _step(path: Path, step: Record, by_id: dict[str, Placed]) -> Iterator[Finding]:
    identity = text(step, "module")
    if identity is None:
        return
    placed = by_id.get(identity.lower())
    if placed is None:
        yield Finding((*path, "module"), f"this plant has no module {quoted(identity)}", "the id of a module of the same plant")
        return
    command = next((one for one in STEP_KINDS if one.word == step.get("do")), None)
    if command is None or placed.kind is None:
        return
    if placed.kind is not command.kind:
        fitting = [one.word for one in STEP_KINDS if one.kind is placed.kind]
        problem = f"{command.word!r} does not fit a module of kind {str(placed.kind)!r}"
        yield Finding((*path, "do"), problem, listed(fitting) or "a module that takes this command")
        return
    module = placed.record
    state = module.get("state")
    sockets = state.get("sockets") if isinstance(state, dict) else None
    socket = step.get("socket")
    if isinstance(sockets, list) and sockets and isinstance(socket, int) and socket >= len(sockets):
        yield Finding((*path, "socket"), f"the multisocket has no socket {socket}", f"0 to {len(sockets) - 1}")
    yield from _program_exists((*path, "program"), step.get("program"), module)
    color = step.get("color")
    brightness = step.get("level", color.get("value") if isinstance(color, dict) else None)
    if step.get("on") is True and brightness == 0:
        yield Finding(path, "a light cannot be on with level 0", "on without a level, a level of 1 to 100, or on: false")


def _thermostat(path: Path, module: Record) -> Iterator[Finding]:
    seen = set()
    for program_path, program in records(module, "programs", path):
        number = program.get("number")
        if isinstance(number, int) and number in seen:
            yield Finding((*program_path, "number"), f"the thermostat already has a program {number}")
        seen.add(number if isinstance(number, int) else None)
    state = module.get("state")
    if isinstance(state, dict):
        if state.get("mode") == "automatic" and "program" not in state:
            yield Finding((*path, "state"), "a thermostat in mode automatic needs the number of its active 'program'")
        yield from _program_exists((*path, "state", "program"), state.get("program"), module)


def _program_exists(path: Path, number: Any, module: Record) -> Iterator[Finding]:
    numbers = [program.get("number") for _, program in records(module, "programs")]
    if isinstance(number, int) and number not in numbers:
        yield Finding(path, f"the thermostat has no program {number}", listed(numbers) or "none: its 'programs' are not given")
