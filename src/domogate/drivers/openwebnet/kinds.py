"""The kinds of modules that this driver drives, their options, and the class of each device."""

import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from domogate.domain.devices import DeviceKind
from domogate.domain.states import State
from domogate.drivers.declaration import OptionProblem, OptionSchema
from domogate.drivers.openwebnet import automation, energy, gateway_device, lighting, scenarios, thermoregulation
from domogate.drivers.openwebnet.addresses import Scope, parse_meter, parse_where, parse_zone
from domogate.drivers.openwebnet.device import Device

_Make = Callable[[DeviceKind, Mapping[str, Any], State | None], Device]

_PANEL = re.compile(r"[0-9]{2}(?:#4#[0-9]{2})?")


class Kind:
    """A kind of module in one system of the bus (WHO): its options, which of them are required, and the class of its device."""

    def __init__(self, who: int, make: _Make, *, needs: tuple[str, ...] = ("where",), takes: tuple[str, ...] = ()) -> None:
        self.who = who
        self.make = make
        self.needs = needs
        self.takes = frozenset((*needs, *takes, "gateway", "who"))


_ON_OFF = ("groups",)
_SCENARIO = Kind(scenarios.WHO, scenarios.Scenario, needs=("where", "scenario"))
_RELAY = Kind(lighting.WHO, lighting.Relay, takes=("seconds", *_ON_OFF))

KINDS: Mapping[DeviceKind, tuple[Kind, ...]] = MappingProxyType(
    {
        DeviceKind.LIGHT: (Kind(lighting.WHO, lighting.Light, takes=("levels", "color", *_ON_OFF)),),
        DeviceKind.PLUG: (Kind(lighting.WHO, lighting.Plug, takes=("meter", *_ON_OFF)),),
        DeviceKind.HEATER: (Kind(lighting.WHO, lighting.Heater, takes=_ON_OFF),),
        DeviceKind.LOCK: (_RELAY,),
        DeviceKind.ACTIVATION: (_RELAY, _SCENARIO),
        DeviceKind.SCENE: (_SCENARIO,),
        DeviceKind.AUTOMATION: (Kind(automation.WHO, automation.Shutter, takes=("position", "travel", *_ON_OFF)),),
        DeviceKind.CHRONOTHERMOSTAT: (Kind(thermoregulation.WHO, thermoregulation.Zone),),
        DeviceKind.ENERGYMETER: (Kind(energy.WHO, energy.EnergyMeter),),
        DeviceKind.GATEWAY: (Kind(gateway_device.WHO, gateway_device.GatewayDevice, needs=()),),
    }
)
"""The values of `Kind` for each kind of module. The first value of a kind is the default for options without `who`."""


def make_device(kind: DeviceKind, options: Mapping[str, Any], last: State | None) -> Device:
    """Make the device of a module. `last` is its last known state. Call this only for options without problems."""
    return _find_kind(kind, options).make(kind, options, last)


def _find_kind(kind: DeviceKind, options: Mapping[str, Any]) -> Kind:
    return next((it for it in KINDS[kind] if it.who == options.get("who", it.who)), KINDS[kind][0])


def find_option_problems(kind: DeviceKind, options: Mapping[str, Any]) -> Iterator[OptionProblem]:
    """Yield the problems of the options of a module of this kind."""
    if kind not in KINDS:
        yield (), f"an OpenWebNet bus has no module of kind '{kind}'; it has {', '.join(KINDS)}"
        return
    whos = [it.who for it in KINDS[kind]]
    if "who" in options and (type(options["who"]) is not int or options["who"] not in whos):
        yield ("who",), f"a module of kind '{kind}' is WHO {' or '.join(map(str, whos))}"
        return
    it = _find_kind(kind, options)
    for name in options:
        if name not in it.takes:
            yield (name,), f"this option does not exist; the options are {', '.join(sorted(it.takes))}"
    for name in it.needs:
        if name not in options:
            yield (), f"'{name}' is missing"
    for name, value in options.items():
        if name in it.takes and (check := _CHECKS.get(name)) is not None and (problem := check(it.who, value)) is not None:
            yield (name,), problem
    if options.get("color") is True and options.get("levels", 100) != 100:
        yield ("levels",), "a light with colours always has 100 levels: leave it out"


def describe_options(kind: DeviceKind) -> OptionSchema | None:
    if kind not in KINDS:
        return None
    entries = [_describe(it) for it in KINDS[kind]]
    if len(entries) == 1:
        return entries[0]
    for entry in entries[1:]:  # The first entry is the default for options without `who`.
        entry["required"].append("who")
    return {"type": "object", "anyOf": entries}


def _describe(it: Kind) -> OptionSchema:
    properties = {name: _SCHEMAS[name] for name in sorted(it.takes - {"who"})}
    properties["who"] = {"type": "integer", "const": it.who}
    return {"type": "object", "properties": properties, "required": list(it.needs), "additionalProperties": False}


def _check_where(who: int, value: Any) -> str | None:
    if not (isinstance(value, str) or type(value) is int):
        return "text is expected"
    where_text = str(value)
    match who:
        case lighting.WHO | automation.WHO:
            where = parse_where(where_text)
            fits = where is not None and where.scope is Scope.POINT
            expected = 'the address of one point, such as "11", "0311" or "11#4#02"'
        case thermoregulation.WHO:
            fits = parse_zone(where_text) is not None and "#" not in where_text.removeprefix("#0#").removeprefix("#")
            expected = 'a zone such as "1", a zone behind the central unit such as "#1", or the central unit "#0"'
        case scenarios.WHO:
            fits = _PANEL.fullmatch(where_text) is not None
            expected = 'a scenario module, "01" to "99"'
        case _:
            fits = parse_meter(where_text) is not None
            expected = 'a meter such as "51", or an energy actuator such as "71#0"'
    return None if fits else f"{expected} is expected"


def _check_groups(_: int, value: Any) -> str | None:
    fits = isinstance(value, list | tuple) and all(type(group) is int and 1 <= group <= 255 for group in value)
    return None if fits else "a list of groups, 1 to 255, is expected"


def _check_meter(_: int, value: Any) -> str | None:
    return _check_where(energy.WHO, value)


def _one_of(*values: Any) -> Callable[[int, Any], str | None]:
    words = f"one of {', '.join(f'{value:g}' for value in values)} is expected"
    return lambda _, value: None if type(value) in (int, float) and value in values else words


def _within(low: float, high: float) -> Callable[[int, Any], str | None]:
    words = f"a number within {low:g}..{high:g} is expected"
    return lambda _, value: None if type(value) in (int, float) and low <= value <= high else words


def _check_flag(_: int, value: Any) -> str | None:
    return None if isinstance(value, bool) else "true or false is expected"


def _check_name(_: int, value: Any) -> str | None:
    return None if isinstance(value, str) and value else "the name of a gateway is expected"


def _check_scenario(_: int, value: Any) -> str | None:
    return None if type(value) is int and value in scenarios.SCENARIOS else "a scenario, 1 to 20, is expected"


_CHECKS: Mapping[str, Callable[[int, Any], str | None]] = MappingProxyType(
    {
        "where": _check_where,
        "gateway": _check_name,
        "groups": _check_groups,
        "meter": _check_meter,
        "levels": _one_of(1, 10, 100),
        "color": _check_flag,
        "position": _check_flag,
        "travel": _within(1, 600),
        "seconds": _one_of(*lighting.PULSES),
        "scenario": _check_scenario,
    }
)

_SCHEMAS: Mapping[str, OptionSchema] = MappingProxyType(
    {
        "where": {"type": "string", "description": 'The address on the bus, such as "11" or "11#4#02".'},
        "gateway": {"type": "string", "minLength": 1, "description": "The name of a gateway in the settings."},
        "groups": {"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": 255}},
        "meter": {"type": "string", "description": 'The address of a meter such as "51".'},
        "levels": {"type": "integer", "enum": [1, 10, 100]},
        "color": {"type": "boolean"},
        "position": {"type": "boolean"},
        "travel": {"type": "number", "minimum": 1, "maximum": 600, "description": "Seconds."},
        "seconds": {"type": "number", "enum": list(lighting.PULSES)},
        "scenario": {"type": "integer", "minimum": min(scenarios.SCENARIOS), "maximum": max(scenarios.SCENARIOS)},
    }
)
