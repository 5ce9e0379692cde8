"""What each kind of device makes of facts, a state; and of a command, the facts that are wanted and how they are confirmed."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, cast

from domogate.domain.commands import (
    Activate,
    Command,
    MoveShutter,
    OpenLock,
    SetLight,
    SetThermostat,
    SwitchCamera,
    SwitchHeater,
    SwitchPlug,
    SwitchSocket,
)
from domogate.domain.devices import DeviceKind
from domogate.domain.states import (
    ActivationState,
    AutomationState,
    Battery,
    CameraState,
    Color,
    EnergyMeterState,
    GatewayState,
    HeaterState,
    LightState,
    LockState,
    MultisocketState,
    PlugState,
    Reading,
    RemoteState,
    State,
    ThermostatState,
    Unit,
)
from domogate.drivers.mqtt.facts import UNSAID_OF_A_THERMOSTAT, Facts, Unsayable

UNITS: Mapping[str, Unit] = MappingProxyType(
    {"power": Unit.WATT, "energy": Unit.WATT_HOUR, "temperature": Unit.CELSIUS, "humidity": Unit.PERCENT}
)

Readings = Mapping[str, Reading]
_Fold = Callable[[Facts, Readings], State | None]

_MOST_OF_A_PLUG = 100_000
"""Spec 2.13: a counter beyond it cannot be told to a client; history keeps it."""


# States


def _light(facts: Facts, _: Readings) -> State | None:
    if "on" not in facts:
        return None
    level = facts.get("level")
    hue, saturation = facts.get("hue"), facts.get("saturation")
    color = None if hue is None or saturation is None else Color(hue, saturation, float(100 if level is None else level))
    return LightState(on=facts["on"], level=level, color=color)


def _plug(facts: Facts, readings: Readings) -> State | None:
    if "on" not in facts:
        return None
    told = {what: readings[what] for what in ("power", "energy") if what in readings}
    return PlugState(on=facts["on"], **{what: one for what, one in told.items() if 0 <= one.value <= _MOST_OF_A_PLUG})


def _meter(_: Facts, readings: Readings) -> State | None:
    if not readings.keys() & {"power", "energy"}:
        return None
    return EnergyMeterState(power=readings.get("power"), energy=readings.get("energy"))


def _thermostat(facts: Facts, readings: Readings) -> State | None:
    if "set_point" not in facts:
        return None
    return ThermostatState(
        function=facts.get("function", UNSAID_OF_A_THERMOSTAT["function"]),
        mode=facts.get("mode", UNSAID_OF_A_THERMOSTAT["mode"]),
        set_point=facts["set_point"],
        load_active=facts.get("load_active", False),
        temperature=readings.get("temperature"),
        humidity=readings.get("humidity"),
    )


def _multisocket(facts: Facts, _: Readings) -> State | None:
    sockets = facts.get("sockets", {})
    known = sorted(sockets)
    # All up to the last one: a socket that nothing was heard of yet would be shown as another.
    return MultisocketState(sockets=tuple(sockets[place] for place in known)) if known == [*range(len(known))] != [] else None


_FOLDS: Mapping[DeviceKind, _Fold] = MappingProxyType(
    {
        DeviceKind.LIGHT: _light,
        DeviceKind.PLUG: _plug,
        DeviceKind.ENERGYMETER: _meter,
        DeviceKind.CHRONOTHERMOSTAT: _thermostat,
        DeviceKind.MULTISOCKET: _multisocket,
        DeviceKind.AUTOMATION: lambda facts, _: AutomationState(position=facts["position"]) if "position" in facts else None,
        DeviceKind.HEATER: lambda facts, _: HeaterState(on=facts["on"]) if "on" in facts else None,
        DeviceKind.LOCK: lambda facts, _: LockState(locked=facts["locked"]) if "locked" in facts else None,
        DeviceKind.ACTIVATION: lambda facts, _: ActivationState(active=facts["active"]) if "active" in facts else None,
        DeviceKind.AUDIOVIDEO_UNIT: lambda facts, _: CameraState(on=facts["on"]) if "on" in facts else None,
        DeviceKind.GATEWAY: lambda facts, _: GatewayState(firmware=facts.get("firmware")),
        DeviceKind.REMOTE: lambda facts, _: RemoteState(
            battery=facts.get("battery", Battery.UNKNOWN), firmware=facts.get("firmware")
        ),
    }
)

KINDS = frozenset(_FOLDS)
"""What MQTT can drive at all. Scenes are the gateway's own; emergency lighting has no such devices."""


def fold(kind: DeviceKind, facts: Facts, readings: Readings) -> State | None:
    """The state of a module of which all this was said; None while something it needs was not."""
    return _FOLDS[kind](facts, readings)


# Commands


def _bounded(what: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise Unsayable(f"{what} is {value:g}, outside {low:g}..{high:g}")


def _wish_light(command: SetLight) -> Facts:
    if command.level is not None:
        _bounded("level", command.level, 0, 100)
    if command.color is not None:
        _bounded("hue", command.color.hue, 0, 360)
        _bounded("saturation", command.color.saturation, 0, 100)
        _bounded("value", command.color.value, 0, 100)
    level = command.level
    if level is None and command.color is not None:
        level = round(command.color.value)
    # A lamp that is off has no brightness to set: off is all that is wanted then.
    if command.on is False or (level == 0 and command.on is not True):
        return Facts(on=False)
    wanted = Facts()
    if command.on is not None:
        wanted["on"] = command.on
    if level is not None:
        wanted["level"] = max(1, level)
    if command.color is not None:
        wanted["hue"], wanted["saturation"] = command.color.hue, command.color.saturation
    if not wanted:
        raise Unsayable("the command says nothing")
    return wanted


def _wish_shutter(command: MoveShutter) -> Facts:
    _bounded("position", command.position, 0, 100)
    return Facts(position=command.position)


def _wish_thermostat(command: SetThermostat) -> Facts:
    if command.program is not None:
        raise Unsayable("the thermostat's programs cannot be chosen from outside")
    if command.activation_time is not None:
        raise Unsayable("the thermostat cannot be told until when")
    wanted = Facts()
    if command.set_point is not None:
        _bounded("set point", command.set_point, 3, 40)
        wanted["set_point"] = command.set_point
    if command.mode is not None:
        wanted["mode"] = command.mode
    if command.function is not None:
        wanted["function"] = command.function
    if not wanted:
        raise Unsayable("the command says nothing")
    return wanted


def _wish_socket(command: SwitchSocket) -> Facts:
    return Facts(sockets={command.socket: command.on})


_WISHES: Mapping[DeviceKind, tuple[type, Callable[[Any], Facts]]] = MappingProxyType(
    {
        DeviceKind.LIGHT: (SetLight, _wish_light),
        DeviceKind.AUTOMATION: (MoveShutter, _wish_shutter),
        DeviceKind.PLUG: (SwitchPlug, lambda command: Facts(on=command.on)),
        DeviceKind.HEATER: (SwitchHeater, lambda command: Facts(on=command.on)),
        DeviceKind.AUDIOVIDEO_UNIT: (SwitchCamera, lambda command: Facts(on=command.on)),
        DeviceKind.MULTISOCKET: (SwitchSocket, _wish_socket),
        DeviceKind.LOCK: (OpenLock, lambda _: Facts(locked=False)),
        DeviceKind.ACTIVATION: (Activate, lambda _: Facts(active=True)),
        DeviceKind.CHRONOTHERMOSTAT: (SetThermostat, _wish_thermostat),
    }
)


def wish(kind: DeviceKind, command: Command, always: Facts) -> Facts:
    """What is to hold once the command is carried out, beside what holds `always`. Raises Unsayable."""
    wanted, of = _WISHES.get(kind, (None, None))
    if wanted is None or of is None or not isinstance(command, wanted):
        raise Unsayable(f"a {kind} does not take this command")
    told = {what: value for what, value in of(command).items() if (what, value) not in always.items()}
    return cast(Facts, told)  # its keys are those of Facts


# Whether it holds. Devices count in steps of their own, so what comes back is near what was sent.

_NEAR: Mapping[str, float] = MappingProxyType({"level": 2, "position": 2, "set_point": 0.5, "saturation": 6})
_NEAR_HUE = 8
_UNSATURATED = 15
"""Below this, hue is noise."""


def still_wanted(wanted: Facts, heard: Facts) -> Facts:
    """What of `wanted` this message does not confirm."""
    left: dict[str, Any] = {}
    for what, value in wanted.items():
        if what == "sockets":
            seen = heard.get("sockets", {})
            sockets = {place: on for place, on in wanted["sockets"].items() if seen.get(place) is not on}
            if sockets:
                left[what] = sockets
        elif not _confirms(what, value, heard, wanted):
            left[what] = value
    return cast(Facts, left)  # its keys are those of `wanted`


def _confirms(what: str, value: Any, heard: Facts, wanted: Facts) -> bool:
    said: Any = heard.get(what)
    if what == "position" and heard.get("target") == value:
        return True
    if said is None:
        return False
    if what == "hue":
        apart = abs(said - value) % 360
        return min(apart, 360 - apart) <= _NEAR_HUE or (wanted.get("saturation") or 0) < _UNSATURATED
    return bool(abs(said - value) <= _NEAR[what]) if what in _NEAR else bool(said == value)
