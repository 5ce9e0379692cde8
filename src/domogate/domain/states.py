"""States of modules. A state has the latest readings; older readings are in the history."""

from enum import StrEnum

import msgspec

from domogate.domain.reachability import Absence
from domogate.domain.safety import EmergencyTest, EmergencyTestKind, Failure


class Unit(StrEnum):
    """The unit of a measured value."""

    WATT = "watt"
    WATT_HOUR = "watt_hour"
    CELSIUS = "C"
    FAHRENHEIT = "F"
    PERCENT = "%"


class Reading(msgspec.Struct, frozen=True, gc=False):
    """A measured value with its time. Times in the core are seconds since the epoch."""

    value: float
    unit: Unit
    at: float


class ReadingSummary(msgspec.Struct, frozen=True, gc=False):
    """A summary of the readings in one interval. `at` is the time at which the interval starts.

    `last` is the last reading of the interval. For a counter such as `energy`, read `last`: the mean of a counter says nothing.
    """

    measure: str
    unit: Unit
    at: float
    count: int
    mean: float
    low: float
    high: float
    last: float


class _State(msgspec.Struct, frozen=True, gc=False, tag_field="of", kw_only=True):
    """Base of all states. When a state is stored, its field `of` names the type of the state."""

    @property
    def is_moving(self) -> bool:
        """Whether the state changes by itself now, until it reaches its target."""
        return False


class Color(msgspec.Struct, frozen=True, gc=False):
    """A colour: hue 0..360, saturation and value 0..100 (Spec 2.7, Spec 8)."""

    hue: float
    saturation: float
    value: float


class LightTarget(msgspec.Struct, frozen=True, gc=False):
    """A level and colour that were ordered, but that the light does not have yet.

    The light reaches them at the time `ends_at`. If `ends_at` is None, the light is off, and gets them when it is switched on.
    """

    level: int | None
    color: Color | None
    ends_at: float | None = None


class LightState(_State, tag="light", frozen=True, gc=False):
    """The state of a light.

    If the light is off, `level` is the level that the light gets when it is switched on, or 0 if this level is not known. If
    `level` is None, the light has no levels or has not reported its level yet.
    """

    on: bool
    level: int | None = None
    color: Color | None = None
    target: LightTarget | None = None
    """The ordered level and colour that the light has not reached yet. None if there are none.

    The target is stored, so that a restart of the gateway does not lose it. No API shows it.
    """

    @property
    def is_moving(self) -> bool:
        return self.target is not None and self.target.ends_at is not None


class AutomationState(_State, tag="automation", frozen=True, gc=False):
    """The state of a shutter or blind. Position 0 is closed, position 100 is open."""

    position: int
    target: int | None = None
    """The position to which the shutter moves now. None if the shutter does not move.

    The target is stored, so that a restart of the gateway does not lose it. No API shows it.
    """

    @property
    def is_moving(self) -> bool:
        return self.target is not None


class PlugState(_State, tag="plug", frozen=True, gc=False):
    on: bool
    power: Reading | None = None
    energy: Reading | None = None


class HeaterState(_State, tag="heater", frozen=True, gc=False):
    on: bool


class EnergyMeterState(_State, tag="energymeter", frozen=True, gc=False):
    power: Reading | None = None
    energy: Reading | None = None


class Battery(StrEnum):
    FULL = "full"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    VERY_LOW = "very_low"
    UNKNOWN = "unknown"


class RemoteState(_State, tag="remote", frozen=True, gc=False):
    battery: Battery
    firmware: int | None = None


class GatewayState(_State, tag="gateway", frozen=True, gc=False):
    firmware: int | None = None


class LockState(_State, tag="lock", frozen=True, gc=False):
    locked: bool


class ActivationState(_State, tag="activation", frozen=True, gc=False):
    active: bool


class CameraState(_State, tag="camera", frozen=True, gc=False):
    on: bool


class ThermostatFunction(StrEnum):
    HEATING = "heating"
    COOLING = "cooling"


class ThermostatMode(StrEnum):
    AUTOMATIC = "automatic"
    MANUAL = "manual"
    BOOST = "boost"
    OFF = "off"
    PROTECTION = "protection"


class ThermostatState(_State, tag="chronothermostat", frozen=True, gc=False):
    """The state of a chronothermostat.

    The set point is in Celsius. `scale` is the unit of the thermostat's display and readings (Decision 0011).
    """

    function: ThermostatFunction
    mode: ThermostatMode
    set_point: float
    scale: Unit = Unit.CELSIUS
    program: int | None = None
    activation_time: float | None = None
    former_mode: ThermostatMode | None = None
    load_active: bool = False
    utc_offset_minutes: int = 0
    temperature: Reading | None = None
    humidity: Reading | None = None


class MultisocketState(_State, tag="multisocket", frozen=True, gc=False):
    sockets: tuple[bool, ...]


class EmergencyState(_State, tag="emergency", frozen=True, gc=False):
    """The state of an emergency controller or unit.

    `failures` may also contain the types BLOCK.OK and REMOTE.STATUS.OK, which say that nothing failed. Only controllers
    have `alert` and `alert_changed_at`. The gateway computes these two values from the states of the controller's units.
    """

    failures: tuple[Failure, ...] = ()
    alert: bool | None = None
    alert_changed_at: float | None = None
    charge: int | None = None
    """The charge of a unit's battery in percent."""
    charging_since: float | None = None
    """The time since which the unit has charged its battery, or kept it full, without using it."""
    testing: EmergencyTestKind | None = None
    """The test that is running now."""
    function_test: EmergencyTest | None = None
    duration_test: EmergencyTest | None = None
    """The fields `function_test` and `duration_test` have the last finished test of each kind, or None if there was none."""


State = (
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


def without_readings(state: State | None) -> State | None:
    """Return the state without its measured values."""
    if state is None:
        return None
    measured = [name for name in state.__struct_fields__ if isinstance(getattr(state, name), Reading)]
    return msgspec.structs.replace(state, **dict.fromkeys(measured)) if measured else state


class Report(msgspec.Struct, frozen=True, gc=False):
    """A driver's report about one module: the state of the module (None if the state is unchanged or unknown), and whether the
    module can be reached.

    Each entry of `readings` is the name of a measure (power, energy, temperature or humidity) and a reading. These readings
    are stored in the history.
    """

    plant_id: str
    module_id: str
    at: float
    state: State | None = None
    reachable: bool = True
    readings: tuple[tuple[str, Reading], ...] = ()
    absence: Absence | None = None
    """The reason why the module cannot be reached."""
