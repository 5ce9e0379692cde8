"""JSON models of commands: which kind of module accepts which command, and the bounds of its values (Spec 8)."""

from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from domogate.common.times import LATEST_LOCAL
from domogate.domain import commands as domain
from domogate.domain.commands import OrderState
from domogate.domain.devices import DeviceKind
from domogate.domain.faults import ValueOutOfRange
from domogate.domain.plants import Module, ThermostatDetail
from domogate.domain.states import Color, MultisocketState, State, ThermostatFunction, ThermostatMode
from domogate.wire import InputModel, OutputModel, to_datetime

Percent = Annotated[int, Meta(ge=0, le=100)]


class HsvColor(InputModel, frozen=True):
    hue: Annotated[float, Meta(ge=0, le=360)]
    saturation: Annotated[float, Meta(ge=0, le=100)]
    value: Annotated[float, Meta(ge=0, le=100)]


class _Command(InputModel, frozen=True, tag_field="do", omit_defaults=True):
    pass


class SwitchPlug(_Command, frozen=True, tag="switch plug"):
    on: bool


class SwitchSocket(_Command, frozen=True, tag="switch socket"):
    """Switch one socket of a multisocket. The first socket is 0."""

    socket: Annotated[int, Meta(ge=0, le=1000)]
    on: bool


class SwitchHeater(_Command, frozen=True, tag="switch heater"):
    on: bool


class SetLight(_Command, frozen=True, tag="set light"):
    """Set a light. Missing values stay as they are. At least one value must be given."""

    on: bool | None = None
    level: Percent | None = None
    color: HsvColor | None = None


class MoveShutter(_Command, frozen=True, tag="move shutter"):
    """Move a shutter or blind to a position: 0 is closed, 100 is open."""

    position: Percent


class SetThermostat(_Command, frozen=True, tag="set thermostat"):
    """Set a chronothermostat. Missing values stay as they are.

    At least one value must be given. The set point is in Celsius and is rounded to a tenth.
    """

    function: ThermostatFunction | None = None
    mode: ThermostatMode | None = None
    set_point: Annotated[float, Meta(ge=3, le=40)] | None = None
    program: Annotated[int, Meta(ge=0, le=11)] | None = None
    activation_time: Annotated[datetime, Meta(tz=True)] | None = None


class OpenLock(_Command, frozen=True, tag="open lock"):
    pass


class Activate(_Command, frozen=True, tag="activate"):
    pass


class SwitchCamera(_Command, frozen=True, tag="switch camera"):
    on: bool


CommandBody = (
    SwitchPlug | SwitchSocket | SwitchHeater | SetLight | MoveShutter | SetThermostat | OpenLock | Activate | SwitchCamera
)


class OrderFacts(OutputModel, frozen=True):
    id: str
    plant_id: str
    module_id: str
    command: CommandBody
    user_id: str | None
    state: OrderState
    problem: str


class _Form(msgspec.Struct, frozen=True):
    """One command: the kind of module that accepts it, its body, and its class in the domain."""

    kind: DeviceKind
    body: type[Any]
    command: type[Any]


_FORMS = (
    _Form(DeviceKind.PLUG, SwitchPlug, domain.SwitchPlug),
    _Form(DeviceKind.MULTISOCKET, SwitchSocket, domain.SwitchSocket),
    _Form(DeviceKind.HEATER, SwitchHeater, domain.SwitchHeater),
    _Form(DeviceKind.LIGHT, SetLight, domain.SetLight),
    _Form(DeviceKind.AUTOMATION, MoveShutter, domain.MoveShutter),
    _Form(DeviceKind.CHRONOTHERMOSTAT, SetThermostat, domain.SetThermostat),
    _Form(DeviceKind.LOCK, OpenLock, domain.OpenLock),
    _Form(DeviceKind.ACTIVATION, Activate, domain.Activate),
    _Form(DeviceKind.AUDIOVIDEO_UNIT, SwitchCamera, domain.SwitchCamera),
)
_BY_BODY = {form.body: form for form in _FORMS}
_BY_COMMAND = {form.command: form for form in _FORMS}
_BY_KIND = {form.kind: form for form in _FORMS}


def word_of(command: domain.Command) -> str:
    """Return the name of the command in the audit log, for example `switch plug`."""
    return str(type(command).__struct_config__.tag)


def command_for(kind: DeviceKind) -> str | None:
    """Return the name of the command that a module of this kind accepts. Return None for a kind that accepts no command."""
    form = _BY_KIND.get(kind)
    return None if form is None else str(form.body.__struct_config__.tag)


def to_command(body: CommandBody, module: Module, state: State | None, now: float) -> domain.Command:
    """Return the command in the body.

    Raises ValueOutOfRange if the command sets nothing or contradicts itself, or if its `activationTime` is not in the future.
    Also raises it if the module is of another kind, or does not have the socket or program of the command.
    """
    kind = module.kind
    form = _BY_BODY[type(body)]
    if form.kind is not kind:
        if kind is DeviceKind.SCENE:
            raise ValueOutOfRange("a scene takes no command; to run it, POST to its URL with /run")
        if (takes := command_for(kind)) is None:
            raise ValueOutOfRange(f"a module of kind {kind} takes no command")
        raise ValueOutOfRange(f"a module of kind {kind} takes the command '{takes}'; this command is for the kind {form.kind}")
    values = {name: _to_domain(value) for name, value in _fields(body).items()}
    if not values and body.__struct_fields__:
        names = ", ".join(field.encode_name for field in msgspec.structs.fields(body))
        raise ValueOutOfRange(f"one of {names} must be given")
    if isinstance(body, SetThermostat):
        _check_thermostat(values, module, now)
    if isinstance(body, SwitchSocket) and isinstance(state, MultisocketState):
        sockets = len(state.sockets)
        if body.socket >= sockets:
            raise ValueOutOfRange(f"the multisocket has no socket {body.socket}; it has 0 to {sockets - 1}")
    command: domain.Command = form.command(**values)
    if isinstance(command, domain.SetLight) and (contradiction := command.find_contradiction()) is not None:
        raise ValueOutOfRange(contradiction)
    return command


def command_body(command: domain.Command) -> CommandBody:
    """Return the JSON model of a command. The command is not checked again: an order shows its command as it was sent."""
    values = {name: _to_json(name, value) for name, value in _fields(command).items()}
    body: CommandBody = _BY_COMMAND[type(command)].body(**values)
    return body


def _check_thermostat(values: dict[str, Any], module: Module, now: float) -> None:
    if "set_point" in values:
        values["set_point"] = round(values["set_point"], 1)
    if not now < values.get("activation_time", now + 1) <= LATEST_LOCAL:
        raise ValueOutOfRange("activationTime must be in the future, and before 9999-12-31")
    detail = module.detail
    known = [program.number for program in detail.programs] if isinstance(detail, ThermostatDetail) else []
    if known and values.get("program", known[0]) not in known:
        raise ValueOutOfRange(f"the thermostat has no program {values['program']}; it has {', '.join(map(str, known))}")


def _fields(struct: msgspec.Struct) -> dict[str, Any]:
    return {name: value for name in struct.__struct_fields__ if (value := getattr(struct, name)) is not None}


def _to_domain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.timestamp()
    return Color(value.hue, value.saturation, value.value) if isinstance(value, HsvColor) else value


def _to_json(name: str, value: Any) -> Any:
    if isinstance(value, Color):
        return HsvColor(value.hue, value.saturation, value.value)
    return to_datetime(value) if name == "activation_time" else value
