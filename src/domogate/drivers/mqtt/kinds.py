"""For each kind of device: how properties become a state, which properties a command sets, and what confirms a command."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, cast

from domogate.domain.commands import (
    Activate,
    Command,
    MoveShutter,
    OpenLock,
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
    ThermostatMode,
    ThermostatState,
)
from domogate.drivers.bounds import check_bounds
from domogate.drivers.mqtt.emergency import emergency_state
from domogate.drivers.mqtt.properties import THERMOSTAT_DEFAULTS, Codec, Properties, Unsupported

Readings = Mapping[str, Reading]
_MakeState = Callable[[Properties, Readings], State | None]

_MOST_OF_A_PLUG = 100_000
"""The largest power or energy in the state of a plug (Spec 2.13). Larger values are stored only in the history."""


# States


def _light(properties: Properties, _: Readings) -> State | None:
    if "on" not in properties:
        return None
    level = properties.get("level")
    if properties["on"] and level == 0:
        level = 1  # rounded from a very low brightness
    hue, saturation = properties.get("hue"), properties.get("saturation")
    color = None if hue is None or saturation is None else Color(hue, saturation, float(100 if level is None else level))
    return LightState(on=properties["on"], level=level, color=color)


def _plug(properties: Properties, readings: Readings) -> State | None:
    if "on" not in properties:
        return None
    known = {what: readings[what] for what in ("power", "energy") if what in readings}
    return PlugState(on=properties["on"], **{what: one for what, one in known.items() if 0 <= one.value <= _MOST_OF_A_PLUG})


def _meter(_: Properties, readings: Readings) -> State | None:
    if not readings.keys() & {"power", "energy"}:
        return None
    return EnergyMeterState(power=readings.get("power"), energy=readings.get("energy"))


def _thermostat(properties: Properties, readings: Readings) -> State | None:
    if "set_point" not in properties:
        return None
    return ThermostatState(
        function=properties.get("function", THERMOSTAT_DEFAULTS["function"]),
        mode=properties.get("mode", THERMOSTAT_DEFAULTS["mode"]),
        set_point=properties["set_point"],
        load_active=properties.get("load_active", False),
        temperature=readings.get("temperature"),
        humidity=readings.get("humidity"),
    )


def _multisocket(properties: Properties, _: Readings) -> State | None:
    sockets = properties.get("sockets", {})
    known = sorted(sockets)
    # The state needs all sockets: if one were missing, the sockets after it would get wrong numbers.
    return MultisocketState(sockets=tuple(sockets[socket] for socket in known)) if known == [*range(len(known))] != [] else None


_STATES: Mapping[DeviceKind, _MakeState] = MappingProxyType(
    {
        DeviceKind.LIGHT: _light,
        DeviceKind.PLUG: _plug,
        DeviceKind.ENERGYMETER: _meter,
        DeviceKind.CHRONOTHERMOSTAT: _thermostat,
        DeviceKind.MULTISOCKET: _multisocket,
        DeviceKind.AUTOMATION: lambda properties, _: (
            AutomationState(position=properties["position"]) if "position" in properties else None
        ),
        DeviceKind.HEATER: lambda properties, _: HeaterState(on=properties["on"]) if "on" in properties else None,
        DeviceKind.LOCK: lambda properties, _: LockState(locked=properties["locked"]) if "locked" in properties else None,
        DeviceKind.ACTIVATION: lambda properties, _: (
            ActivationState(active=properties["active"]) if "active" in properties else None
        ),
        DeviceKind.AUDIOVIDEO_UNIT: lambda properties, _: CameraState(on=properties["on"]) if "on" in properties else None,
        DeviceKind.GATEWAY: lambda properties, _: GatewayState(firmware=properties.get("firmware")),
        DeviceKind.REMOTE: lambda properties, _: RemoteState(
            battery=properties.get("battery", Battery.UNKNOWN), firmware=properties.get("firmware")
        ),
        DeviceKind.EMERGENCY_CONTROLLER: lambda properties, _: emergency_state(DeviceKind.EMERGENCY_CONTROLLER, properties),
        DeviceKind.EMERGENCY_UNIT: lambda properties, _: emergency_state(DeviceKind.EMERGENCY_UNIT, properties),
    }
)

KINDS = frozenset(_STATES)
"""The kinds of modules that MQTT can drive. Scenes are not among them: the gateway itself runs a scene."""


def make_state(kind: DeviceKind, properties: Properties, readings: Readings) -> State | None:
    """Return the state of a module with these properties, or None if a required property is missing."""
    return _STATES[kind](properties, readings)


# Commands


def _shutter_command(command: MoveShutter) -> Properties:
    check_bounds("position", command.position, 0, 100)
    return Properties(position=command.position)


def _thermostat_command(command: SetThermostat) -> Properties:
    if command.program is not None:
        raise Unsupported("the programs of this thermostat cannot be chosen over MQTT")
    if command.activation_time is not None:
        raise Unsupported("the thermostat takes no activation time")
    wanted = Properties()
    if command.set_point is not None:
        check_bounds("set point", command.set_point, 3, 40)
        wanted["set_point"] = command.set_point
    if command.mode is not None:
        wanted["mode"] = command.mode
    if command.function is not None:
        wanted["function"] = command.function
    if not wanted:
        raise Unsupported("the command is empty")
    return wanted


def _socket_command(command: SwitchSocket) -> Properties:
    return Properties(sockets={command.socket: command.on})


_COMMANDS_BY_KIND: Mapping[DeviceKind, tuple[type, Callable[[Any], Properties]]] = MappingProxyType(
    {
        DeviceKind.AUTOMATION: (MoveShutter, _shutter_command),
        DeviceKind.PLUG: (SwitchPlug, lambda command: Properties(on=command.on)),
        DeviceKind.HEATER: (SwitchHeater, lambda command: Properties(on=command.on)),
        DeviceKind.AUDIOVIDEO_UNIT: (SwitchCamera, lambda command: Properties(on=command.on)),
        DeviceKind.MULTISOCKET: (SwitchSocket, _socket_command),
        DeviceKind.LOCK: (OpenLock, lambda _: Properties(locked=False)),
        DeviceKind.ACTIVATION: (Activate, lambda _: Properties(active=True)),
        DeviceKind.CHRONOTHERMOSTAT: (SetThermostat, _thermostat_command),
    }
)


def properties_for(kind: DeviceKind, command: Command, always: Properties) -> Properties:
    """Return the properties that the command sets.

    `always` has the properties of the module that never change (see `Codec`). If the command sets one of them to the
    value in `always`, the property is left out. For lights, `plan_light` is called instead. Raises Unsupported or
    CommandNotSupported if the module cannot execute the command.
    """
    command_type, make = _COMMANDS_BY_KIND.get(kind, (None, None))
    if command_type is None or make is None or not isinstance(command, command_type):
        raise Unsupported(f"a {kind} does not take this command")
    wanted = {what: value for what, value in make(command).items() if (what, value) not in always.items()}
    return cast(Properties, wanted)  # the keys are those of Properties


def with_function(wanted: Properties, state: State | None, codec: Codec) -> Properties:
    """Return `wanted`. If it sets the manual mode of a thermostat, add the present function if the device needs the function.

    The device needs the function if it has one word (such as `cool`) for the manual mode with this function. A function that
    `wanted` already has is not changed.
    """
    if wanted.get("mode") is not ThermostatMode.MANUAL or "function" in wanted or not isinstance(state, ThermostatState):
        return wanted
    return Properties(**wanted, function=state.function) if codec.needs_function(state.function) else wanted


# Confirmation. Devices round to their own steps, so a confirmed value is only near the wanted value.

_NEAR: Mapping[str, float] = MappingProxyType({"level": 2, "position": 2, "set_point": 0.5, "saturation": 6})
_NEAR_HUE = 8
_WITHOUT_FUNCTION = (ThermostatMode.OFF, ThermostatMode.AUTOMATIC)
"""In these modes many thermostats report no function, so a report of the wanted mode also confirms the function."""
_UNSATURATED = 15
"""In percent. Below this saturation the light is nearly white, so any hue confirms an order."""


def unconfirmed(wanted: Properties, heard: Properties) -> Properties:
    """Return the wanted properties that a message does not confirm. `heard` are the properties in the message."""
    left: dict[str, Any] = {}
    for what, value in wanted.items():
        if what == "sockets":
            seen = heard.get("sockets", {})
            sockets = {socket: on for socket, on in wanted["sockets"].items() if seen.get(socket) is not on}
            if sockets:
                left[what] = sockets
        elif not _confirms(what, value, heard, wanted):
            left[what] = value
    return cast(Properties, left)  # the keys are those of `wanted`


def _confirms(what: str, value: Any, heard: Properties, wanted: Properties) -> bool:
    said: Any = heard.get(what)
    if what == "position" and heard.get("target") == value:
        return True
    if what == "function" and said is None and wanted.get("mode") in _WITHOUT_FUNCTION:
        return heard.get("mode") == wanted.get("mode")
    if said is None:
        return False
    if what == "hue":
        apart = abs(said - value) % 360
        return min(apart, 360 - apart) <= _NEAR_HUE or (wanted.get("saturation") or 0) < _UNSATURATED
    return bool(abs(said - value) <= _NEAR[what]) if what in _NEAR else bool(said == value)
