"""A restart changes nothing: a device continues from its stored state as if it had not been interrupted."""

import msgspec
import pytest

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
from domogate.domain.estate import FirstState
from domogate.domain.safety import EmergencyTest, EmergencyTestKind, Failure, FailureType, in_failure
from domogate.domain.states import (
    ActivationState,
    AutomationState,
    Battery,
    CameraState,
    Color,
    EmergencyState,
    HeaterState,
    LightState,
    LockState,
    MultisocketState,
    PlugState,
    RemoteState,
    Report,
    State,
    ThermostatFunction,
    ThermostatMode,
    ThermostatState,
)
from domogate.drivers.simulator.emergency import EmergencyUnit, own_failure
from domogate.ports import AttachedModule
from support.clocks import NOON
from support.devices import make_attached, make_id
from support.simulator_setup import PLANT, SimulatorSetup

LAMP = LightState(on=False, level=20, color=Color(10, 20, 20))
THERMOSTAT = ThermostatState(
    function=ThermostatFunction.HEATING, mode=ThermostatMode.AUTOMATIC, set_point=20.5, program=0, former_mode=None
)
MEASURED = ("power", "energy", "temperature", "humidity", "load_active")
"""They go on while the gateway is down, and depend on the time of the measurement."""


def told(state: State | None) -> dict[str, object]:
    """The part of a state that orders set."""
    return {name: value for name, value in msgspec.structs.asdict(state).items() if name not in MEASURED} if state else {}


async def after_orders(
    attached: AttachedModule, commands: list[Command], seconds: float, restart: float | None
) -> State | None:
    """The state so many seconds after the orders; `restart`: the process is killed and started so many seconds after them."""
    setup = SimulatorSetup(attached)
    async with setup:
        for command in commands:
            last = await setup.order(command)
        if restart is None:
            setup.clock.advance(seconds)
            return (await setup.read()).state
        # What is stored is the confirmed state, and the reports since then.
        last = [last, *(report for report in await setup.advance(restart) if report.state is not None)][-1]
    again = SimulatorSetup(AttachedModule(attached.module, FirstState(attached.module.id, last.state), reported_at=last.at))
    again.clock.at = setup.clock.now()
    async with again:
        again.clock.advance(seconds - restart)
        return (await again.read()).state


@pytest.mark.parametrize("restart", [0.5, 2.0])
@pytest.mark.parametrize(
    ("kind", "state", "options", "commands"),
    [
        (DeviceKind.LIGHT, LAMP, {}, [SetLight(on=True, level=70)]),
        (DeviceKind.LIGHT, LAMP, {}, [SetLight(level=70)]),
        (DeviceKind.LIGHT, LAMP, {"transition": 40}, [SetLight(on=True, level=70)]),
        (DeviceKind.LIGHT, LAMP, {"transition": 40}, [SetLight(on=True), SetLight(color=Color(200, 90, 80))]),
        (DeviceKind.LIGHT, LAMP, {"transition": 40}, [SetLight(on=True, level=90), SetLight(on=False)]),
        (DeviceKind.AUTOMATION, AutomationState(position=0), {}, [MoveShutter(position=80)]),
        (DeviceKind.AUTOMATION, AutomationState(position=70), {"travel": 60}, [MoveShutter(position=0)]),
        (DeviceKind.PLUG, PlugState(on=False), {}, [SwitchPlug(on=True)]),
        (DeviceKind.HEATER, HeaterState(on=False), {}, [SwitchHeater(on=True)]),
        (DeviceKind.MULTISOCKET, MultisocketState(sockets=(False, False)), {}, [SwitchSocket(socket=1, on=True)]),
        (DeviceKind.LOCK, LockState(locked=True), {}, [OpenLock()]),
        (DeviceKind.ACTIVATION, ActivationState(active=False), {}, [Activate()]),
        (DeviceKind.AUDIOVIDEO_UNIT, CameraState(on=False), {}, [SwitchCamera(on=True)]),
        (DeviceKind.CHRONOTHERMOSTAT, THERMOSTAT, {}, [SetThermostat(set_point=25.0)]),
        (DeviceKind.CHRONOTHERMOSTAT, THERMOSTAT, {}, [SetThermostat(mode=ThermostatMode.BOOST)]),
        (DeviceKind.CHRONOTHERMOSTAT, THERMOSTAT, {}, [SetThermostat(mode=ThermostatMode.OFF, activation_time=NOON + 60)]),
        (DeviceKind.CHRONOTHERMOSTAT, THERMOSTAT, {}, [SetThermostat(function=ThermostatFunction.COOLING, program=3)]),
    ],
    ids=lambda value: getattr(value, "value", None),
)
@pytest.mark.parametrize("seconds", [60.0, 200.0, 2400.0])
async def test_an_order_is_executed_as_without_the_restart(
    kind: DeviceKind, state: State, options: dict[str, object], commands: list[Command], restart: float, seconds: float
) -> None:
    attached = make_attached(kind, state, options=options)
    expected = told(await after_orders(attached, commands, seconds, None))
    assert told(await after_orders(attached, commands, seconds, restart)) == expected


HOUR, DAY = 3600.0, 86_400.0


async def states_after_each(every: float, times: int, attached: AttachedModule, *, restarts: bool) -> list[State | None]:
    """The states after each of so many steps of `every` seconds; `restarts`: the device is made again before each step."""
    states: list[State | None] = []
    async with SimulatorSetup(attached) as setup:
        for _ in range(times):
            if restarts:
                await setup.simulator.detach(PLANT)
                for last in setup.reports[-1:]:
                    attached = AttachedModule(attached.module, FirstState(attached.module.id, last.state), reported_at=last.at)
                await setup.simulator.attach(PLANT, [attached])
            await setup.advance(every, every=60.0)
            states.append((await setup.read()).state)
    return states


class TestManyRestarts:
    """The values that change slowly, for hours or months."""

    @pytest.fixture(autouse=True)
    def _nothing_breaks_by_itself(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(EmergencyUnit, "ODDS", 0.0)
        monkeypatch.setattr(EmergencyUnit, "FAILS", dict.fromkeys(EmergencyTestKind, 0.0))

    @pytest.mark.parametrize("every", [5 * 60.0, 20 * 60.0, 6 * HOUR])
    async def test_do_not_change_how_fast_an_emergency_unit_charges(self, every: float) -> None:
        function, duration = (
            EmergencyTest(kind=kind, began_at=NOON - HOUR, ended_at=NOON, lit=HOUR) for kind in EmergencyTestKind
        )
        healthy = EmergencyState(failures=(Failure(FailureType.BLOCK_OK),), function_test=function, duration_test=duration)
        discharged = msgspec.structs.replace(healthy, charge=23, charging_since=NOON)
        unit = make_attached(DeviceKind.EMERGENCY_UNIT, discharged)
        state = (await states_after_each(every, int(12 * HOUR / every), unit, restarts=True))[-1]
        assert isinstance(state, EmergencyState)
        assert state.charge is not None
        assert 71 <= state.charge <= 73
        assert state.charging_since == NOON

    @pytest.mark.parametrize("kind", EmergencyTestKind)
    async def test_do_not_delay_a_repair(self, kind: EmergencyTestKind) -> None:
        broken = FailureType.BLOCK_FAULTY_EMERGENCY_LIGHT
        if kind is EmergencyTestKind.DURATION:
            broken = FailureType.BLOCK_FAULTY_BATTERY
        failed = EmergencyTest(kind=kind, began_at=NOON - 60, ended_at=NOON, lit=60.0, failure=broken)
        state = EmergencyState(failures=(own_failure(broken),), charge=90, charging_since=NOON)
        unit = make_attached(DeviceKind.EMERGENCY_UNIT, msgspec.structs.replace(state, **{f"{kind}_test": failed}))

        async def repaired_after(*, restarts: bool) -> int:
            states = await states_after_each(6 * HOUR, 14, unit, restarts=restarts)
            return [getattr(state, "failures", ()) for state in states].index((Failure(FailureType.BLOCK_OK),))

        repaired = await repaired_after(restarts=True)
        assert DAY / (6 * HOUR) - 1 <= repaired <= 3 * DAY / (6 * HOUR)
        assert repaired == await repaired_after(restarts=False)

    @pytest.mark.parametrize("level", [level for level in Battery if level is not Battery.UNKNOWN])
    async def test_do_not_change_how_fast_the_battery_of_a_remote_drains(self, level: Battery) -> None:
        remote = make_attached(DeviceKind.REMOTE, RemoteState(battery=level), options={"lasts": 50})
        states = await states_after_each(HOUR, 60, remote, restarts=True)
        assert states == await states_after_each(HOUR, 60, remote, restarts=False)
        assert {state.battery for state in states if isinstance(state, RemoteState)} == set(Battery) - {Battery.UNKNOWN}


class TestAFailureThatTheSimulatorMade:
    @pytest.mark.parametrize("hours", [1, 13, 48, 1000])
    @pytest.mark.parametrize("kind", [DeviceKind.EMERGENCY_CONTROLLER, DeviceKind.EMERGENCY_UNIT])
    async def test_is_repaired_after_any_time_in_which_nobody_drove_the_plant(
        self, kind: DeviceKind, hours: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(EmergencyUnit, "FAILS", dict.fromkeys(EmergencyTestKind, 0.0))
        async with SimulatorSetup(attached := make_attached(kind, module_id=make_id(7))) as setup:
            while not is_failing(await setup.read()):
                await setup.advance(HOUR)
            last = setup.reports[-1]
            assert is_failing(last)
            await setup.simulator.detach(PLANT)
            setup.clock.advance(hours * HOUR)
            stored = FirstState(attached.module.id, last.state)
            await setup.simulator.attach(PLANT, [AttachedModule(attached.module, stored, reported_at=last.at)])
            await setup.advance(12 * HOUR, every=HOUR)
            assert not is_failing(await setup.read())


def is_failing(report: Report) -> bool:
    return isinstance(report.state, EmergencyState) and in_failure(report.state.failures)
