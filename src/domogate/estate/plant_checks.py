"""What must hold within one plant: between scenes and modules, thermostats and programs, units and controllers."""

from collections.abc import Iterator
from typing import Any

from domogate.domain.devices import DeviceKind
from domogate.estate.explain import Finding
from domogate.estate.format import DOINGS
from domogate.estate.mistakes import Path, listed, quoted
from domogate.estate.records import every_module, records, text

Record = dict[str, Any]


def check_plant(path: Path, plant: Record) -> Iterator[Finding]:
    modules = list(every_module(path, plant))
    by_id = {identity.lower(): module for _, module in modules if (identity := text(module, "id"))}
    if "removedAt" in plant and plant.get("status", "active") == "active":
        yield Finding((*path, "removedAt"), "the plant is not removed", "'removedAt' with status removed only", at_key=True)
    if plant.get("emergencyLighting") is False and any(_is(module, DeviceKind.EMERGENCY_CONTROLLER) for _, module in modules):
        yield Finding((*path, "emergencyLighting"), "the plant holds emergency controllers", "true, or leave it out")
    for module_path, module in modules:
        if _is(module, DeviceKind.SCENE):
            for step_path, step in records(module, "steps", module_path):
                yield from _step(step_path, step, by_id)
        elif _is(module, DeviceKind.CHRONOTHERMOSTAT):
            yield from _thermostat(module_path, module)
        elif _is(module, DeviceKind.EMERGENCY_UNIT):
            controller = text(module, "controller")
            if controller is not None and not _is(by_id.get(controller.lower()), DeviceKind.EMERGENCY_CONTROLLER):
                problem = f"{quoted(controller)} is no emergency controller of this plant"
                yield Finding((*module_path, "controller"), problem, "the id of a module of kind 'emergency controller'")


def _is(module: Record | None, kind: DeviceKind) -> bool:
    return module is not None and module.get("kind") == kind


def _step(path: Path, step: Record, by_id: dict[str, Record]) -> Iterator[Finding]:
    identity = text(step, "module")
    if identity is None:
        return
    module = by_id.get(identity.lower())
    if module is None:
        yield Finding((*path, "module"), f"this plant has no module {quoted(identity)}", "the id of a module of the same plant")
        return
    doing = next((doing for doing in DOINGS if doing.word == step.get("do")), None)
    if doing is None:
        return
    kind = module.get("kind", DeviceKind.EMERGENCY_UNIT)
    if kind != doing.kind:
        fitting = [told.word for told in DOINGS if told.kind == kind]
        problem = f"{doing.word!r} does not fit a module of kind {quoted(kind)}"
        yield Finding((*path, "do"), problem, listed(fitting) or "a module that can be commanded")
        return
    state = module.get("state")
    sockets = state.get("sockets") if isinstance(state, dict) else None
    socket = step.get("socket")
    if isinstance(sockets, list) and sockets and isinstance(socket, int) and socket >= len(sockets):
        yield Finding((*path, "socket"), f"the multisocket has no socket {socket}", f"0 to {len(sockets) - 1}")
    yield from _program_exists((*path, "program"), step.get("program"), module)


def _thermostat(path: Path, module: Record) -> Iterator[Finding]:
    seen = set()
    for program_path, program in records(module, "programs", path):
        number = program.get("number")
        if isinstance(number, int) and number in seen:
            yield Finding((*program_path, "number"), f"the thermostat has a program {number} already")
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
