"""Commands as they are written in JSON: which kind takes which, within which bounds (Spec 8)."""

from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from domogate.domain import commands as domain
from domogate.domain.devices import DeviceKind
from domogate.domain.faults import ValueOutOfRange
from domogate.domain.plants import ThermostatDetail
from domogate.domain.states import Color, MultisocketState, ThermostatFunction, ThermostatMode
from domogate.management.wire import Taken
from domogate.services.plants.read_model import ModuleView
from domogate.wire import moment

Percent = Annotated[int, Meta(ge=0, le=100)]


class HsvColor(Taken, frozen=True):
    hue: Annotated[float, Meta(ge=0, le=360)]
    saturation: Annotated[float, Meta(ge=0, le=100)]
    value: Annotated[float, Meta(ge=0, le=100)]


class _Command(Taken, frozen=True, tag_field="do", omit_defaults=True):
    pass


class SwitchPlug(_Command, frozen=True, tag="switch plug"):
    on: bool


class SwitchSocket(_Command, frozen=True, tag="switch socket"):
    """The first socket is 0."""

    socket: Annotated[int, Meta(ge=0, le=1000)]
    on: bool


class SwitchHeater(_Command, frozen=True, tag="switch heater"):
    on: bool


class SetLight(_Command, frozen=True, tag="set light"):
    """What is left out stays as it is; something must be there."""

    on: bool | None = None
    level: Percent | None = None
    color: HsvColor | None = None


class MoveShutter(_Command, frozen=True, tag="move shutter"):
    """0 is closed, 100 is open."""

    position: Percent


class SetThermostat(_Command, frozen=True, tag="set thermostat"):
    """What is left out stays as it is; something must be there. The set point is in Celsius, kept to a tenth of a degree."""

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


WrittenCommand = (
    SwitchPlug | SwitchSocket | SwitchHeater | SetLight | MoveShutter | SetThermostat | OpenLock | Activate | SwitchCamera
)


class _Doing(msgspec.Struct, frozen=True):
    """One command: which kind takes it, how it is written, and what it is in the core."""

    kind: DeviceKind
    written: type[Any]
    command: type[Any]


_DOINGS = (
    _Doing(DeviceKind.PLUG, SwitchPlug, domain.SwitchPlug),
    _Doing(DeviceKind.MULTISOCKET, SwitchSocket, domain.SwitchSocket),
    _Doing(DeviceKind.HEATER, SwitchHeater, domain.SwitchHeater),
    _Doing(DeviceKind.LIGHT, SetLight, domain.SetLight),
    _Doing(DeviceKind.AUTOMATION, MoveShutter, domain.MoveShutter),
    _Doing(DeviceKind.CHRONOTHERMOSTAT, SetThermostat, domain.SetThermostat),
    _Doing(DeviceKind.LOCK, OpenLock, domain.OpenLock),
    _Doing(DeviceKind.ACTIVATION, Activate, domain.Activate),
    _Doing(DeviceKind.AUDIOVIDEO_UNIT, SwitchCamera, domain.SwitchCamera),
)
_OF_WRITTEN = {doing.written: doing for doing in _DOINGS}
_OF_COMMAND = {doing.command: doing for doing in _DOINGS}
_OF_KIND = {doing.kind: doing for doing in _DOINGS}


def word_of(command: domain.Command) -> str:
    """What it is called: `switch plug`."""
    return str(type(command).__struct_config__.tag)


def to_command(written: WrittenCommand, view: ModuleView, now: float) -> domain.Command:
    """Raises ValueOutOfRange for what the module's kind, or this very module, does not take."""
    kind = view.module.kind
    doing = _OF_WRITTEN[type(written)]
    if doing.kind is not kind:
        if kind is DeviceKind.SCENE:
            raise ValueOutOfRange("a scene is run, not commanded: POST to its URL with /run")
        if kind not in _OF_KIND:
            raise ValueOutOfRange(f"a module of kind {kind} takes no command")
        takes = _OF_KIND[kind].written.__struct_config__.tag
        raise ValueOutOfRange(f"a module of kind {kind} takes the command '{takes}'; this one is for the kind {doing.kind}")
    said = {name: _to_core(value) for name, value in _fields(written).items()}
    if not said and written.__struct_fields__:
        raise ValueOutOfRange(f"one of {', '.join(_names(written))} must be there")
    if isinstance(written, SetThermostat):
        _check_thermostat(said, view, now)
    if isinstance(written, SwitchSocket) and isinstance(view.state, MultisocketState):
        there = len(view.state.sockets)
        if written.socket >= there:
            raise ValueOutOfRange(f"the multisocket has no socket {written.socket}; it has 0 to {there - 1}")
    command: domain.Command = doing.command(**said)
    return command


def show_command(command: domain.Command) -> WrittenCommand:
    """Not checked again: what was ordered is shown as it was."""
    said = {name: _to_written(name, value) for name, value in _fields(command).items()}
    written: WrittenCommand = _OF_COMMAND[type(command)].written(**said)
    return written


def _check_thermostat(said: dict[str, Any], view: ModuleView, now: float) -> None:
    if "set_point" in said:
        said["set_point"] = round(said["set_point"], 1)
    if said.get("activation_time", now + 1) <= now:
        raise ValueOutOfRange("activationTime is past")
    detail = view.module.detail
    known = [program.number for program in detail.programs] if isinstance(detail, ThermostatDetail) else []
    if known and said.get("program", known[0]) not in known:
        raise ValueOutOfRange(f"the thermostat has no program {said['program']}; it has {', '.join(map(str, known))}")


def _fields(struct: msgspec.Struct) -> dict[str, Any]:
    return {name: value for name in struct.__struct_fields__ if (value := getattr(struct, name)) is not None}


def _names(written: msgspec.Struct) -> list[str]:
    return [field.encode_name for field in msgspec.structs.fields(written)]


def _to_core(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.timestamp()
    return Color(value.hue, value.saturation, value.value) if isinstance(value, HsvColor) else value


def _to_written(name: str, value: Any) -> Any:
    if isinstance(value, Color):
        return HsvColor(value.hue, value.saturation, value.value)
    return moment(value) if name == "activation_time" else value
