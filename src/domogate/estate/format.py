"""The format of the estate file: the keys of each kind of record, and how their values are written.

The code that reads estate files and the code that writes them both use the tables of this module.
docs/estate.md describes the same format.
"""

from collections.abc import Collection
from typing import Any, NamedTuple

from domogate.domain import commands, states
from domogate.domain.devices import Capability, DeviceKind, Metric, MetricType
from domogate.domain.ids import Id
from domogate.domain.limits import Limits
from domogate.domain.people import Client, GrantType, Standing, Subscription, User
from domogate.domain.plants import (
    ControllerDetail,
    Invitation,
    Member,
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
    Shape,
    many,
    reading,
    record,
    word,
)

# --- People and applications ------------------------------------------------------------------------------------------

USER = Shape(
    User,
    email=AS_IS,
    name=AS_IS,
    password_hash=AS_IS,
    standing=word(Standing),
    operator=AS_IS,
    totp_secret=AS_IS,
)
SUBSCRIPTION = Shape(
    Subscription,
    {"created_at": "created", "expires_at": "expires", "revoked_at": "revoked"},
    name=AS_IS,
    rate=AS_IS,
    daily_quota=WHOLE,
    created_at=TIME,
    expires_at=TIME,
    revoked_at=TIME,
)
CLIENT = Shape(
    Client,
    id=AS_IS,
    name=AS_IS,
    secret_hash=AS_IS,
    redirect_uris=many(AS_IS),
    origins=many(AS_IS),
    grants=many(word(GrantType)),
    access_token_everywhere=AS_IS,
    pkce_exempt=AS_IS,
    post_logout_redirect_uris=many(AS_IS),
)

# --- Plants and their content -----------------------------------------------------------------------------------------

PLANT = Shape(
    Plant,
    name=AS_IS,
    type=word(PlantType),
    status=word(PlantStatus),
    removed_at=TIME,
    country=AS_IS,
    zip_code=AS_IS,
    address=AS_IS,
    time_zone=AS_IS,
)
LIMITS = Shape(
    Limits,
    floors=many(IDENTITY),
    ambients=many(IDENTITY),
    modules=many(IDENTITY),
    valid_from=TIME,
    valid_until=TIME,
)
"""The keys for the limits of a guest. In the file, they are in the record with the e-mail address of the guest."""
METRIC = Shape(Metric, label=AS_IS, type=word(MetricType))
CAPABILITY = Shape(Capability, name=AS_IS, command=AS_IS, request=AS_IS, notification=AS_IS)
MODULE = Shape(
    Module,
    driver=AS_IS,
    type=AS_IS,
    hw_type=AS_IS,
    device_type=AS_IS,
    metrics=many(record(METRIC)),
    capabilities=many(record(CAPABILITY)),
    options=AS_IS,
)
PROGRAM = Shape(Program, number=WHOLE, name=AS_IS)
THERMOSTAT_DETAIL = Shape(ThermostatDetail, programs=many(record(PROGRAM)))
CONTROLLER_DETAIL = Shape(ControllerDetail, reference=AS_IS, serial_number=AS_IS, alert_level=WHOLE)
UNIT_DETAIL = Shape(UnitDetail, reference=AS_IS)

SPARE_PART = Shape(SparePart, reference=AS_IS, type=word(SparePartType), quantity=AS_IS)
SPARE_PARTS = Shape(SpareParts, unit=AS_IS, parts=many(record(SPARE_PART)))

# --- States -----------------------------------------------------------------------------------------------------------

_COLOR = record(Shape(Color, hue=DECIMAL, saturation=DECIMAL, value=DECIMAL))
_POWER, _ENERGY = reading(Unit.WATT), reading(Unit.WATT_HOUR)
_THERMOSTAT = {
    "function": word(ThermostatFunction),
    "mode": word(ThermostatMode),
    "set_point": DECIMAL,
    "program": WHOLE,
    "activation_time": TIME,
}


def _read_failure(value: Any) -> Failure:
    return Failure(FailureType(value["type"]), value.get("flag")) if isinstance(value, dict) else Failure(FailureType(value))


def _write_failure(failure: Failure) -> Any:
    return str(failure.type) if failure.flag is None else {"type": str(failure.type), "flag": failure.flag}


EMERGENCY_STATE = Shape(
    states.EmergencyState,
    failures=many(Codec(_read_failure, _write_failure)),
    alert=AS_IS,
    alert_changed_at=TIME,
)
"""The state of a unit or controller. In the file, its keys are in the record of the module, not under `state`."""

STATES: dict[DeviceKind, Shape[Any]] = {
    DeviceKind.LIGHT: Shape(states.LightState, on=AS_IS, level=WHOLE, color=_COLOR),
    DeviceKind.AUTOMATION: Shape(states.AutomationState, position=WHOLE),
    DeviceKind.PLUG: Shape(states.PlugState, on=AS_IS, power=_POWER, energy=_ENERGY),
    DeviceKind.HEATER: Shape(states.HeaterState, on=AS_IS),
    DeviceKind.ENERGYMETER: Shape(states.EnergyMeterState, power=_POWER, energy=_ENERGY),
    DeviceKind.REMOTE: Shape(states.RemoteState, battery=word(Battery), firmware=WHOLE),
    DeviceKind.GATEWAY: Shape(states.GatewayState, firmware=WHOLE),
    DeviceKind.LOCK: Shape(states.LockState, locked=AS_IS),
    DeviceKind.ACTIVATION: Shape(states.ActivationState, active=AS_IS),
    DeviceKind.AUDIOVIDEO_UNIT: Shape(states.CameraState, on=AS_IS),
    DeviceKind.CHRONOTHERMOSTAT: Shape(
        states.ThermostatState,
        {"utc_offset_minutes": "utcOffset"},
        **_THERMOSTAT,
        former_mode=word(ThermostatMode),
        scale=word(Unit),
        load_active=AS_IS,
        utc_offset_minutes=OFFSET,
        temperature=reading(Unit.CELSIUS),
        humidity=reading(Unit.PERCENT),
    ),
    DeviceKind.MULTISOCKET: Shape(states.MultisocketState, sockets=many(AS_IS)),
}

# --- Scene steps ------------------------------------------------------------------------------------------------------


class StepKind(NamedTuple):
    """A kind of scene step: its word (the value of the key `do`), the kind of module, and the command with its parameters."""

    word: str
    kind: DeviceKind
    command: type[Any]
    shape: Shape[Any]


def _step_kind(kind: DeviceKind, command: type[Any], **codecs: Codec) -> StepKind:
    return StepKind(str(command.__struct_config__.tag), kind, command, Shape(command, **codecs))


STEP_KINDS: tuple[StepKind, ...] = (
    _step_kind(DeviceKind.PLUG, commands.SwitchPlug, on=AS_IS),
    _step_kind(DeviceKind.MULTISOCKET, commands.SwitchSocket, socket=WHOLE, on=AS_IS),
    _step_kind(DeviceKind.HEATER, commands.SwitchHeater, on=AS_IS),
    _step_kind(DeviceKind.LIGHT, commands.SetLight, on=AS_IS, level=WHOLE, color=_COLOR),
    _step_kind(DeviceKind.AUTOMATION, commands.MoveShutter, position=WHOLE),
    _step_kind(DeviceKind.CHRONOTHERMOSTAT, commands.SetThermostat, **_THERMOSTAT),
    _step_kind(DeviceKind.LOCK, commands.OpenLock),
    _step_kind(DeviceKind.ACTIVATION, commands.Activate),
    _step_kind(DeviceKind.AUDIOVIDEO_UNIT, commands.SwitchCamera, on=AS_IS),
)


def _read_step(step: dict[str, Any]) -> commands.SceneStep:
    found = next(one for one in STEP_KINDS if one.word == step["do"])
    return commands.SceneStep(IDENTITY.read(step["module"]), found.shape.read(step))


def _write_step(step: commands.SceneStep) -> dict[str, Any]:
    found = next(one for one in STEP_KINDS if isinstance(step.command, one.command))
    return {"module": step.module_id, "do": found.word, **found.shape.write(step.command)}


def email_of(person: Any) -> Any:
    """Return the e-mail address of an entry under `allowed` or `invited`."""
    return person.get("email") if isinstance(person, dict) else person


def read_limits(person: Any) -> Limits | None:
    limits = LIMITS.read(person) if isinstance(person, dict) else Limits()
    return None if limits == Limits() else limits


def write_person(person: Member | Invitation, places: Collection[Id]) -> Any:
    """Return an entry under `allowed` or `invited`. `places` are the ids of the floors, ambients and modules of the plant."""
    if person.limits is None:
        return person.email
    record = {"email": person.email, **LIMITS.write(person.limits)}
    if deleted := [place for kind in person.limits.places for place in kind if place not in places]:
        record["deletedPlaces"] = deleted
    return record


STEPS = many(Codec(_read_step, _write_step))


def write_state(kind: DeviceKind, state: State) -> dict[str, Any]:
    """Return the keys and values of a module's record that describe the state."""
    if isinstance(state, states.EmergencyState):
        return {"failures": [], **EMERGENCY_STATE.write(state)}
    return {"state": STATES[kind].write(state)}


def read_state(kind: DeviceKind, module: dict[str, Any]) -> State | None:
    """Return the state in a module's record, or None if the record has no state."""
    if "state" in module:
        state: State = STATES[kind].read(module["state"])
        return state
    return EMERGENCY_STATE.read(module) if any(key in module for key in EMERGENCY_STATE.keys) else None
