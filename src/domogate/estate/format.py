"""The words of the estate file, noun by noun: which key stands for what in the domain, and how it is spelled.

This is the one table of the format (docs/estate.md shows it to people); reading and printing both go by it.
"""

import uuid
from typing import Any, NamedTuple

from domogate.domain import commands, states
from domogate.domain.devices import Capability, DeviceKind, Metric, MetricType
from domogate.domain.ids import Id
from domogate.domain.people import Client, GrantType, Standing, Subscription, User
from domogate.domain.plants import (
    ControllerDetail,
    Module,
    Plant,
    PlantStatus,
    PlantType,
    Program,
    ThermostatDetail,
    UnitDetail,
)
from domogate.domain.safety import Failure, FailureType, SparePart, SpareParts, SparePartType
from domogate.domain.states import Battery, Color, State, ThermostatFunction, ThermostatMode, Unit
from domogate.estate.shapes import (
    AS_IS,
    DECIMAL,
    IDENTITY,
    OFFSET,
    TIME,
    WHOLE,
    Codec,
    Field,
    Shape,
    many,
    reading,
    record,
    word,
)

_NAMESPACE = uuid.UUID("0d0b9b8e-5d0c-4c56-9d5c-6f2f0f7d6a11")


def derived_id(of: str, text: str) -> Id:
    """An id for what the file gives none: the same at every import."""
    return Id(str(uuid.uuid5(_NAMESPACE, f"{of}:{text}")))


# --- People and applications ------------------------------------------------------------------------------------------

USER = Shape(
    User,
    Field("email", "email", AS_IS),
    Field("name", "name", AS_IS),
    Field("passwordHash", "password_hash", AS_IS),
    Field("standing", "standing", word(Standing)),
    Field("operator", "operator", AS_IS),
    Field("totpSecret", "totp_secret", AS_IS),
)
SUBSCRIPTION = Shape(
    Subscription,
    Field("name", "name", AS_IS),
    Field("rate", "rate", AS_IS),
    Field("dailyQuota", "daily_quota", WHOLE),
    Field("created", "created_at", TIME),
    Field("expires", "expires_at", TIME),
    Field("revoked", "revoked_at", TIME),
)
CLIENT = Shape(
    Client,
    Field("id", "id", AS_IS),
    Field("name", "name", AS_IS),
    Field("secretHash", "secret_hash", AS_IS),
    Field("redirectUris", "redirect_uris", many(AS_IS)),
    Field("origins", "origins", many(AS_IS)),
    Field("grants", "grants", many(word(GrantType))),
    Field("accessTokenEverywhere", "access_token_everywhere", AS_IS),
    Field("pkceExempt", "pkce_exempt", AS_IS),
    Field("postLogoutRedirectUris", "post_logout_redirect_uris", many(AS_IS)),
)

# --- Plants and what stands in them -----------------------------------------------------------------------------------

PLANT = Shape(
    Plant,
    Field("name", "name", AS_IS),
    Field("type", "type", word(PlantType)),
    Field("status", "status", word(PlantStatus)),
    Field("removedAt", "removed_at", TIME),
    Field("country", "country", AS_IS),
    Field("zipCode", "zip_code", AS_IS),
    Field("address", "address", AS_IS),
)
METRIC = Shape(Metric, Field("label", "label", AS_IS), Field("type", "type", word(MetricType)))
CAPABILITY = Shape(
    Capability,
    Field("name", "name", AS_IS),
    Field("command", "command", AS_IS),
    Field("request", "request", AS_IS),
    Field("notification", "notification", AS_IS),
)
MODULE = Shape(
    Module,
    Field("driver", "driver", AS_IS),
    Field("type", "type", AS_IS),
    Field("hwType", "hw_type", AS_IS),
    Field("deviceType", "device_type", AS_IS),
    Field("metrics", "metrics", many(record(METRIC))),
    Field("capabilities", "capabilities", many(record(CAPABILITY))),
    Field("options", "options", AS_IS),
)
PROGRAM = Shape(Program, Field("number", "number", WHOLE), Field("name", "name", AS_IS))
THERMOSTAT_DETAIL = Shape(ThermostatDetail, Field("programs", "programs", many(record(PROGRAM))))
CONTROLLER_DETAIL = Shape(
    ControllerDetail,
    Field("reference", "reference", AS_IS),
    Field("serialNumber", "serial_number", AS_IS),
    Field("alertLevel", "alert_level", WHOLE),
)
UNIT_DETAIL = Shape(UnitDetail, Field("reference", "reference", AS_IS))

SPARE_PART = Shape(
    SparePart,
    Field("reference", "reference", AS_IS),
    Field("type", "type", word(SparePartType)),
    Field("quantity", "quantity", AS_IS),
)
SPARE_PARTS = Shape(SpareParts, Field("unit", "unit", AS_IS), Field("parts", "parts", many(record(SPARE_PART))))

# --- States -----------------------------------------------------------------------------------------------------------

_ON = Field("on", "on", AS_IS)
_COLOR = Field(
    "color",
    "color",
    record(
        Shape(Color, Field("hue", "hue", DECIMAL), Field("saturation", "saturation", DECIMAL), Field("value", "value", DECIMAL))
    ),
)
_LEVEL = Field("level", "level", WHOLE)
_POSITION = Field("position", "position", WHOLE)
_POWER = Field("power", "power", reading(Unit.WATT))
_ENERGY = Field("energy", "energy", reading(Unit.WATT_HOUR))
_FIRMWARE = Field("firmware", "firmware", WHOLE)
_THERMOSTAT = (
    Field("function", "function", word(ThermostatFunction)),
    Field("mode", "mode", word(ThermostatMode)),
    Field("setPoint", "set_point", DECIMAL),
    Field("program", "program", WHOLE),
    Field("activationTime", "activation_time", TIME),
)


def _read_failure(told: Any) -> Failure:
    return Failure(FailureType(told["type"]), told.get("flag")) if isinstance(told, dict) else Failure(FailureType(told))


def _write_failure(failure: Failure) -> Any:
    return str(failure.type) if failure.flag is None else {"type": str(failure.type), "flag": failure.flag}


EMERGENCY_STATE = Shape(
    states.EmergencyState,
    Field("failures", "failures", many(Codec(_read_failure, _write_failure))),
    Field("alert", "alert", AS_IS),
    Field("alertChangedAt", "alert_changed_at", TIME),
)
"""Its keys stand beside the module's others, not under `state`."""

STATES: dict[DeviceKind, Shape[Any]] = {
    DeviceKind.LIGHT: Shape(states.LightState, _ON, _LEVEL, _COLOR),
    DeviceKind.AUTOMATION: Shape(states.AutomationState, _POSITION),
    DeviceKind.PLUG: Shape(states.PlugState, _ON, _POWER, _ENERGY),
    DeviceKind.HEATER: Shape(states.HeaterState, _ON),
    DeviceKind.ENERGYMETER: Shape(states.EnergyMeterState, _POWER, _ENERGY),
    DeviceKind.REMOTE: Shape(states.RemoteState, Field("battery", "battery", word(Battery)), _FIRMWARE),
    DeviceKind.GATEWAY: Shape(states.GatewayState, _FIRMWARE),
    DeviceKind.LOCK: Shape(states.LockState, Field("locked", "locked", AS_IS)),
    DeviceKind.ACTIVATION: Shape(states.ActivationState, Field("active", "active", AS_IS)),
    DeviceKind.AUDIOVIDEO_UNIT: Shape(states.CameraState, _ON),
    DeviceKind.CHRONOTHERMOSTAT: Shape(
        states.ThermostatState,
        *_THERMOSTAT,
        Field("formerMode", "former_mode", word(ThermostatMode)),
        Field("scale", "scale", word(Unit)),
        Field("loadActive", "load_active", AS_IS),
        Field("utcOffset", "utc_offset_minutes", OFFSET),
        Field("temperature", "temperature", reading(Unit.CELSIUS)),
        Field("humidity", "humidity", reading(Unit.PERCENT)),
    ),
    DeviceKind.MULTISOCKET: Shape(states.MultisocketState, Field("sockets", "sockets", many(AS_IS))),
}

# --- Scene steps ------------------------------------------------------------------------------------------------------


class Doing(NamedTuple):
    """What a step can do: to which kind of module, and with what."""

    word: str
    kind: DeviceKind
    command: type[Any]
    shape: Shape[Any]


def _doing(kind: DeviceKind, command: type[Any], *fields: Field) -> Doing:
    return Doing(str(command.__struct_config__.tag), kind, command, Shape(command, *fields))


DOINGS: tuple[Doing, ...] = (
    _doing(DeviceKind.PLUG, commands.SwitchPlug, _ON),
    _doing(DeviceKind.MULTISOCKET, commands.SwitchSocket, Field("socket", "socket", WHOLE), _ON),
    _doing(DeviceKind.HEATER, commands.SwitchHeater, _ON),
    _doing(DeviceKind.LIGHT, commands.SetLight, _ON, _LEVEL, _COLOR),
    _doing(DeviceKind.AUTOMATION, commands.MoveShutter, _POSITION),
    _doing(DeviceKind.CHRONOTHERMOSTAT, commands.SetThermostat, *_THERMOSTAT),
    _doing(DeviceKind.LOCK, commands.OpenLock),
    _doing(DeviceKind.ACTIVATION, commands.Activate),
    _doing(DeviceKind.AUDIOVIDEO_UNIT, commands.SwitchCamera, _ON),
)


def _read_step(told: dict[str, Any]) -> commands.SceneStep:
    doing = next(doing for doing in DOINGS if doing.word == told["do"])
    return commands.SceneStep(IDENTITY.read(told["module"]), doing.shape.read(told))


def _write_step(step: commands.SceneStep) -> dict[str, Any]:
    doing = next(doing for doing in DOINGS if isinstance(step.command, doing.command))
    return {"module": step.module_id, "do": doing.word, **doing.shape.write(step.command)}


STEPS = many(Codec(_read_step, _write_step))


def write_state(kind: DeviceKind, state: State) -> dict[str, Any]:
    """The keys that a module's record has for its state."""
    if isinstance(state, states.EmergencyState):
        return {"failures": [], **EMERGENCY_STATE.write(state)}
    return {"state": STATES[kind].write(state)}


def read_state(kind: DeviceKind, told: dict[str, Any]) -> State | None:
    """The state that a module's record gives; None when it gives none."""
    if "state" in told:
        state: State = STATES[kind].read(told["state"])
        return state
    return EMERGENCY_STATE.read(told) if any(key in told for key in EMERGENCY_STATE.keys) else None
