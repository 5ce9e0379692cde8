"""A plant with a module of every kind, and the URLs of its modules."""

from domogate.domain.devices import DeviceKind
from domogate.domain.plants import Member, Module, Plant, PlantType, Program, ThermostatDetail
from domogate.domain.safety import EmergencyTest, EmergencyTestKind, Failure, FailureType
from domogate.domain.states import (
    ActivationState,
    AutomationState,
    Battery,
    CameraState,
    Color,
    EmergencyState,
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
    ThermostatFunction,
    ThermostatMode,
    ThermostatState,
    Unit,
)
from support.clocks import NOW
from support.stores import ANNA, HOUSE, an_id

STATES: dict[DeviceKind, State | None] = {
    DeviceKind.LIGHT: LightState(on=True, level=40, color=Color(10, 20, 30)),
    DeviceKind.AUTOMATION: AutomationState(position=40),
    DeviceKind.PLUG: PlugState(on=True, power=Reading(12.5, Unit.WATT, NOW)),
    DeviceKind.HEATER: HeaterState(on=False),
    DeviceKind.ENERGYMETER: EnergyMeterState(energy=Reading(1200, Unit.WATT_HOUR, NOW)),
    DeviceKind.REMOTE: RemoteState(battery=Battery.LOW, firmware=3),
    DeviceKind.SCENE: None,
    DeviceKind.GATEWAY: GatewayState(firmware=7),
    DeviceKind.LOCK: LockState(locked=True),
    DeviceKind.ACTIVATION: ActivationState(active=False),
    DeviceKind.AUDIOVIDEO_UNIT: CameraState(on=False),
    DeviceKind.CHRONOTHERMOSTAT: ThermostatState(
        function=ThermostatFunction.HEATING,
        mode=ThermostatMode.BOOST,
        set_point=21.5,
        activation_time=NOW + 60,
        temperature=Reading(19.4, Unit.CELSIUS, NOW),
    ),
    DeviceKind.MULTISOCKET: MultisocketState(sockets=(True, False)),
    DeviceKind.EMERGENCY_CONTROLLER: EmergencyState(failures=(Failure(FailureType.REMOTE_OK),), alert=False),
    DeviceKind.EMERGENCY_UNIT: EmergencyState(
        failures=(Failure(FailureType.BLOCK_DLD, "0x8"),),
        charge=80,
        function_test=EmergencyTest(EmergencyTestKind.FUNCTION, NOW - 60, NOW - 30, 30.0),
    ),
}
MODULE_OF = {
    kind: Module(
        an_id(300 + number),
        an_id(400 + number),
        f"The {kind}",
        kind,
        detail=ThermostatDetail((Program(2, "Week"),)) if kind is DeviceKind.CHRONOTHERMOSTAT else None,
    )
    for number, kind in enumerate(DeviceKind)
}
FULL_PLANT = Plant(an_id(299), an_id(298), "Villa", PlantType.HOUSE, Member(ANNA.id, ANNA.email))


def module_path(kind: DeviceKind, after: str = "") -> str:
    return f"/plants/{FULL_PLANT.id}/modules/{MODULE_OF[kind].id}{after}"


def house_module_path(module: Module, after: str = "") -> str:
    return f"/plants/{HOUSE.id}/modules/{module.id}{after}"
