"""JSON models of the states of modules: the same fields as in the domain, with times in ISO 8601."""

from datetime import datetime

import msgspec

from domogate.domain import states as domain
from domogate.domain.reachability import AbsenceReason
from domogate.domain.safety import EmergencyTestKind, FailureType
from domogate.domain.states import Battery, ThermostatFunction, ThermostatMode, Unit
from domogate.wire import OutputModel


class ReadingOut(OutputModel, frozen=True):
    value: float
    unit: Unit
    at: datetime


class ColorOut(OutputModel, frozen=True):
    hue: float
    saturation: float
    value: float


class _State(OutputModel, frozen=True, tag_field="of"):
    pass


class LightStateOut(_State, frozen=True, tag="light"):
    on: bool
    level: int | None
    color: ColorOut | None


class AutomationStateOut(_State, frozen=True, tag="automation"):
    """The state of a shutter or blind: position 0 is closed, position 100 is open."""

    position: int


class PlugStateOut(_State, frozen=True, tag="plug"):
    on: bool
    power: ReadingOut | None
    energy: ReadingOut | None


class HeaterStateOut(_State, frozen=True, tag="heater"):
    on: bool


class EnergyMeterStateOut(_State, frozen=True, tag="energymeter"):
    power: ReadingOut | None
    energy: ReadingOut | None


class RemoteStateOut(_State, frozen=True, tag="remote"):
    battery: Battery
    firmware: int | None


class GatewayStateOut(_State, frozen=True, tag="gateway"):
    firmware: int | None


class LockStateOut(_State, frozen=True, tag="lock"):
    locked: bool


class ActivationStateOut(_State, frozen=True, tag="activation"):
    active: bool


class CameraStateOut(_State, frozen=True, tag="camera"):
    on: bool


class ThermostatStateOut(_State, frozen=True, tag="chronothermostat"):
    """The state of a thermostat. The set point is in Celsius. `scale` is the unit of the thermostat's display and readings."""

    function: ThermostatFunction
    mode: ThermostatMode
    set_point: float
    scale: Unit
    program: int | None
    activation_time: datetime | None
    former_mode: ThermostatMode | None
    load_active: bool
    utc_offset_minutes: int
    temperature: ReadingOut | None
    humidity: ReadingOut | None


class MultisocketStateOut(_State, frozen=True, tag="multisocket"):
    sockets: tuple[bool, ...]


class FailureOut(OutputModel, frozen=True):
    type: FailureType
    flag: str | None


class EmergencyTestOut(OutputModel, frozen=True):
    """A finished test of an emergency unit. `lit` is the number of seconds for which its lamp was on."""

    kind: EmergencyTestKind
    began_at: datetime
    ended_at: datetime
    lit: float
    passed: bool
    failure: FailureType | None


class EmergencyStateOut(_State, frozen=True, tag="emergency"):
    failures: tuple[FailureOut, ...]
    alert: bool | None
    alert_changed_at: datetime | None
    charge: int | None
    charging_since: datetime | None
    testing: EmergencyTestKind | None
    function_test: EmergencyTestOut | None
    duration_test: EmergencyTestOut | None


StateOut = (
    LightStateOut
    | AutomationStateOut
    | PlugStateOut
    | HeaterStateOut
    | EnergyMeterStateOut
    | RemoteStateOut
    | GatewayStateOut
    | LockStateOut
    | ActivationStateOut
    | CameraStateOut
    | ThermostatStateOut
    | MultisocketStateOut
    | EmergencyStateOut
)

_MODEL_OF: dict[type[domain.State], type[StateOut]] = {
    getattr(domain, model.__name__.removesuffix("Out")): model for model in StateOut.__args__
}


def state_out(state: domain.State) -> StateOut:
    # With strict=False, seconds since the epoch become datetimes.
    return msgspec.convert(state, _MODEL_OF[type(state)], from_attributes=True, strict=False)


class AbsenceOut(OutputModel, frozen=True):
    """The absence of a module that cannot be reached. `since` is the time at which it began.

    `evidence` is what the driver observed.

    If Domogate wrote the text of `evidence`, `code` identifies the sentence, and `values` has the values that are inserted
    into the sentence. If another program wrote the text, `code` is empty.
    """

    why: AbsenceReason
    since: datetime
    evidence: str
    code: str
    values: dict[str, str]
