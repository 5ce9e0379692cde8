"""States as they are shown: the core's own, with times that a person can read."""

from datetime import datetime
from typing import Any

import msgspec

from domogate.domain import states as domain
from domogate.domain.reachability import Absence, AbsenceReason
from domogate.domain.safety import EmergencyTestKind, FailureType
from domogate.domain.states import Battery, ThermostatFunction, ThermostatMode, Unit
from domogate.wire import Shown, moment


class ShownReading(Shown, frozen=True):
    value: float
    unit: Unit
    at: datetime


class ShownColor(Shown, frozen=True):
    hue: float
    saturation: float
    value: float


class _State(Shown, frozen=True, tag_field="of"):
    pass


class LightState(_State, frozen=True, tag="light"):
    on: bool
    level: int | None
    color: ShownColor | None


class AutomationState(_State, frozen=True, tag="automation"):
    """0 is closed, 100 is open."""

    position: int


class PlugState(_State, frozen=True, tag="plug"):
    on: bool
    power: ShownReading | None
    energy: ShownReading | None


class HeaterState(_State, frozen=True, tag="heater"):
    on: bool


class EnergyMeterState(_State, frozen=True, tag="energymeter"):
    power: ShownReading | None
    energy: ShownReading | None


class RemoteState(_State, frozen=True, tag="remote"):
    battery: Battery
    firmware: int | None


class GatewayState(_State, frozen=True, tag="gateway"):
    firmware: int | None


class LockState(_State, frozen=True, tag="lock"):
    locked: bool


class ActivationState(_State, frozen=True, tag="activation"):
    active: bool


class CameraState(_State, frozen=True, tag="camera"):
    on: bool


class ThermostatState(_State, frozen=True, tag="chronothermostat"):
    """The set point is in Celsius; `scale` is what the thermostat itself displays and measures in."""

    function: ThermostatFunction
    mode: ThermostatMode
    set_point: float
    scale: Unit
    program: int | None
    activation_time: datetime | None
    former_mode: ThermostatMode | None
    load_active: bool
    utc_offset_minutes: int
    temperature: ShownReading | None
    humidity: ShownReading | None


class MultisocketState(_State, frozen=True, tag="multisocket"):
    sockets: tuple[bool, ...]


class ShownFailure(Shown, frozen=True):
    type: FailureType
    flag: str | None


class ShownTest(Shown, frozen=True):
    """A test of an emergency unit, over and done; `lit` is for how many seconds its lamp was."""

    kind: EmergencyTestKind
    began_at: datetime
    ended_at: datetime
    lit: float
    passed: bool
    failure: FailureType | None


class EmergencyState(_State, frozen=True, tag="emergency"):
    failures: tuple[ShownFailure, ...]
    alert: bool | None
    alert_changed_at: datetime | None
    charge: int | None
    charging_since: datetime | None
    testing: EmergencyTestKind | None
    function_test: ShownTest | None
    duration_test: ShownTest | None


ShownState = (
    LightState
    | AutomationState
    | PlugState
    | HeaterState
    | EnergyMeterState
    | RemoteState
    | GatewayState
    | LockState
    | ActivationState
    | CameraState
    | ThermostatState
    | MultisocketState
    | EmergencyState
)

SHOWN: dict[type[Any], type[Any]] = {
    domain.LightState: LightState,
    domain.AutomationState: AutomationState,
    domain.PlugState: PlugState,
    domain.HeaterState: HeaterState,
    domain.EnergyMeterState: EnergyMeterState,
    domain.RemoteState: RemoteState,
    domain.GatewayState: GatewayState,
    domain.LockState: LockState,
    domain.ActivationState: ActivationState,
    domain.CameraState: CameraState,
    domain.ThermostatState: ThermostatState,
    domain.MultisocketState: MultisocketState,
    domain.EmergencyState: EmergencyState,
}


def show_state(state: domain.State) -> ShownState:
    # Not strict: seconds since the epoch become moments.
    shown: ShownState = msgspec.convert(state, SHOWN[type(state)], from_attributes=True, strict=False)
    return shown


class ShownAbsence(Shown, frozen=True):
    """Why a module cannot be reached, since when, and what shows it."""

    why: AbsenceReason
    since: datetime
    evidence: str


def show_absence(absence: Absence) -> ShownAbsence:
    return ShownAbsence(absence.why, moment(absence.since), absence.evidence)
