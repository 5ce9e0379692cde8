"""The simulator: attaching, orders, and changes by itself."""

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
from domogate.domain.faults import DeviceOffline, DeviceRefused, DeviceTimeout
from domogate.domain.ids import Id
from domogate.domain.safety import Failure, FailureType
from domogate.domain.states import (
    ActivationState,
    AutomationState,
    Battery,
    CameraState,
    Color,
    EmergencyState,
    GatewayState,
    HeaterState,
    LightState,
    LockState,
    MultisocketState,
    PlugState,
    Reading,
    RemoteState,
    Report,
    State,
    Unit,
)
from domogate.drivers.simulator.emergency import Emergency
from domogate.drivers.simulator.entrance import Activation, Camera, Lock
from domogate.drivers.simulator.plant import DEVICES
from domogate.ports import AttachedModule
from support.clocks import NOON
from support.devices import make_attached, make_id, make_module, make_order
from support.log_lines import capture_logs
from support.simulator_setup import PLANT, SimulatorSetup, state_of, value_of


class TestAttaching:
    @pytest.mark.parametrize("kind", sorted(DEVICES))
    async def test_a_module_without_a_state_reports_a_first_one(self, kind: DeviceKind) -> None:
        async with SimulatorSetup(make_attached(kind)) as setup:
            (report,) = setup.reports
            assert isinstance(report.state, DEVICES[kind].reports)
            assert report.reachable

    def test_every_kind_but_the_scene_is_simulated(self) -> None:
        assert set(DeviceKind) - set(DEVICES) == {DeviceKind.SCENE}

    async def test_a_module_with_a_whole_state_reports_nothing(self) -> None:
        async with SimulatorSetup(make_attached(DeviceKind.LIGHT, LightState(on=False, level=7))) as setup:
            assert setup.reports == []
            assert (await setup.read()).state == LightState(on=False, level=7)

    async def test_a_state_that_no_driver_has_reported_is_reported(self) -> None:
        light = make_attached(DeviceKind.LIGHT, LightState(on=False, level=7))
        async with SimulatorSetup(AttachedModule(light.module, light.last)) as setup:
            assert [report.state for report in setup.reports] == [LightState(on=False, level=7)]

    async def test_measures_that_an_estate_gave_without_a_time_get_the_current_time(self) -> None:
        given = PlugState(on=True, power=Reading(733.0, Unit.WATT, 0.0), energy=Reading(5.0, Unit.WATT_HOUR, 0.0))
        async with SimulatorSetup(make_attached(DeviceKind.PLUG, given)) as setup:
            (report,) = setup.reports
            state = state_of(report, PlugState)
            assert [reading.at for reading in (state.power, state.energy) if reading is not None] == [NOON, NOON]

    async def test_a_module_that_was_unreachable_comes_back(self) -> None:
        async with SimulatorSetup(make_attached(DeviceKind.LIGHT, LightState(on=False), reachable=False)) as setup:
            assert [(report.state, report.reachable) for report in setup.reports] == [(LightState(on=False), True)]

    async def test_all_first_states_of_a_plant_are_one_list(self) -> None:
        async with SimulatorSetup(*(make_attached(DeviceKind.PLUG) for _ in range(50))) as setup:
            assert [len(reports) for reports in setup.lists] == [50]

    async def test_a_multisocket_has_four_sockets_unless_told_otherwise(self) -> None:
        four, seven = make_attached(DeviceKind.MULTISOCKET), make_attached(DeviceKind.MULTISOCKET, options={"sockets": 7})
        async with SimulatorSetup(four, seven) as setup:
            assert [len(state_of(report, MultisocketState).sockets) for report in setup.reports] == [4, 7]

    async def test_a_state_of_another_kind_is_ignored_with_a_warning(self) -> None:
        with capture_logs() as logs:
            async with SimulatorSetup(make_attached(DeviceKind.LIGHT, LockState(locked=True))) as setup:
                assert isinstance((await setup.read()).state, LightState)
        assert [entry["log_level"] for entry in logs] == ["warning"]

    async def test_again_keeps_modules_that_stay_and_drops_removed_ones(self) -> None:
        lamp, lock = make_attached(DeviceKind.LIGHT, LightState(on=False)), make_attached(DeviceKind.LOCK)
        async with SimulatorSetup(lamp, lock) as setup:
            await setup.order(SetLight(on=True))
            added = make_attached(DeviceKind.HEATER)
            await setup.simulator.attach(PLANT, (lamp, added))
            assert (await setup.state(LightState, lamp)).on
            assert isinstance((await setup.read(added)).state, HeaterState)
            with pytest.raises(DeviceOffline):
                await setup.read(lock)

    async def test_again_with_another_option_applies_it_and_keeps_the_state(self) -> None:
        plug = make_attached(DeviceKind.PLUG, options={"watts": 100})
        async with SimulatorSetup(plug) as setup:
            await setup.order(SwitchPlug(on=True))
            stronger = make_module(DeviceKind.PLUG, plug.module.id, options={"watts": 2000})
            await setup.simulator.attach(PLANT, (AttachedModule(stronger, plug.last),))
            await setup.advance(200)
            state = await setup.state(PlugState)
            assert state.on
            assert 1900 < value_of(state.power) < 2100

    async def test_a_detached_plant_is_not_simulated_any_more(self) -> None:
        async with SimulatorSetup(make_attached(DeviceKind.LIGHT)) as setup:
            await setup.simulator.detach(PLANT)
            await setup.simulator.detach(PLANT)
            with pytest.raises(DeviceOffline):
                await setup.read()
            assert await setup.advance(1e6) == []


class TestOrders:
    async def test_to_a_light_change_only_what_they_name(self) -> None:
        red, blue = Color(hue=0, saturation=20, value=40), Color(hue=240, saturation=20, value=30)
        async with SimulatorSetup(make_attached(DeviceKind.LIGHT, LightState(on=False, level=40, color=red))) as setup:
            assert (await setup.order(SetLight(on=True))).state == LightState(on=True, level=40, color=red)
            brighter = Color(hue=0, saturation=20, value=55)
            assert (await setup.order(SetLight(level=55))).state == LightState(on=True, level=55, color=brighter)
            assert (await setup.order(SetLight(color=blue))).state == LightState(on=True, level=30, color=blue)
            assert (await setup.order(SetLight(level=0))).state == LightState(on=False, level=30, color=blue)
            assert await setup.advance(5) == [], "the answer to an order is not reported again"

    async def test_to_a_shutter_heater_socket_and_camera_are_carried_out(self) -> None:
        shutter = make_attached(DeviceKind.AUTOMATION, AutomationState(position=0))
        heater = make_attached(DeviceKind.HEATER, HeaterState(on=False))
        sockets = make_attached(DeviceKind.MULTISOCKET, MultisocketState(sockets=(False, False, True)))
        camera = make_attached(DeviceKind.AUDIOVIDEO_UNIT, CameraState(on=False))
        async with SimulatorSetup(shutter, heater, sockets, camera) as setup:
            await setup.order(MoveShutter(position=37), shutter)
            await setup.advance(60)
            assert (await setup.read(shutter)).state == AutomationState(position=37)
            assert (await setup.order(SwitchHeater(on=True), heater)).state == HeaterState(on=True)
            switched = await setup.order(SwitchSocket(socket=1, on=True), sockets)
            assert switched.state == MultisocketState(sockets=(False, True, True))
            assert (await setup.order(SwitchCamera(on=True), camera)).state == CameraState(on=True)

    @pytest.mark.parametrize(
        ("command", "fitting"),
        [
            (SwitchPlug(on=True), DeviceKind.PLUG),
            (SwitchSocket(socket=0, on=True), DeviceKind.MULTISOCKET),
            (SwitchHeater(on=True), DeviceKind.HEATER),
            (SetLight(on=True), DeviceKind.LIGHT),
            (MoveShutter(position=1), DeviceKind.AUTOMATION),
            (SetThermostat(set_point=20.0), DeviceKind.CHRONOTHERMOSTAT),
            (OpenLock(), DeviceKind.LOCK),
            (Activate(), DeviceKind.ACTIVATION),
            (SwitchCamera(on=True), DeviceKind.AUDIOVIDEO_UNIT),
        ],
    )
    async def test_are_refused_by_every_kind_they_do_not_fit(self, command: Command, fitting: DeviceKind) -> None:
        every = [make_attached(kind) for kind in sorted(DeviceKind)]
        async with SimulatorSetup(*every) as setup:
            for attached in every:
                if attached.module.kind is fitting:
                    assert (await setup.order(command, attached)).reachable
                else:
                    before = (await setup.read(attached)).state
                    with pytest.raises(DeviceRefused):
                        await setup.order(command, attached)
                    assert (await setup.read(attached)).state == before

    @pytest.mark.parametrize(
        ("kind", "command"),
        [
            (DeviceKind.LIGHT, SetLight(level=101)),
            (DeviceKind.LIGHT, SetLight(level=-1)),
            (DeviceKind.LIGHT, SetLight(color=Color(361, 0, 0))),
            (DeviceKind.LIGHT, SetLight(color=Color(0, 101, 0))),
            (DeviceKind.LIGHT, SetLight(color=Color(0, 0, float("nan")))),
            (DeviceKind.AUTOMATION, MoveShutter(position=101)),
            (DeviceKind.MULTISOCKET, SwitchSocket(socket=4, on=True)),
            (DeviceKind.MULTISOCKET, SwitchSocket(socket=-1, on=True)),
            (DeviceKind.CHRONOTHERMOSTAT, SetThermostat(set_point=2.9)),
            (DeviceKind.CHRONOTHERMOSTAT, SetThermostat(set_point=40.1)),
            (DeviceKind.CHRONOTHERMOSTAT, SetThermostat(program=12)),
        ],
    )
    async def test_out_of_bounds_are_refused_and_change_nothing(self, kind: DeviceKind, command: Command) -> None:
        async with SimulatorSetup(make_attached(kind)) as setup:
            before = (await setup.read()).state
            with pytest.raises(DeviceRefused):
                await setup.order(command)
            assert (await setup.read()).state == before

    async def test_after_their_deadline_are_not_carried_out(self) -> None:
        lamp = make_attached(DeviceKind.LIGHT, LightState(on=False))
        async with SimulatorSetup(lamp) as setup:
            with pytest.raises(DeviceTimeout):
                await setup.simulator.execute(make_order(PLANT, lamp.module.id, SetLight(on=True), deadline=NOON))
            assert not (await setup.state(LightState)).on


class TestWhatGoesBackByItself:
    @pytest.mark.parametrize(
        ("kind", "command", "for_now", "again", "after"),
        [
            (DeviceKind.LOCK, OpenLock(), LockState(locked=False), LockState(locked=True), Lock.LASTS),
            (DeviceKind.AUDIOVIDEO_UNIT, SwitchCamera(on=True), CameraState(on=True), CameraState(on=False), Camera.LASTS),
            (
                DeviceKind.ACTIVATION,
                Activate(),
                ActivationState(active=True),
                ActivationState(active=False),
                Activation.LASTS,
            ),
        ],
    )
    async def test_does_so_after_its_time_and_reports_it(
        self, kind: DeviceKind, command: Command, for_now: State, again: State, after: float
    ) -> None:
        async with SimulatorSetup(make_attached(kind)) as setup:
            assert (await setup.order(command)).state == for_now
            assert await setup.advance(after - 1) == []
            assert [report.state for report in await setup.advance(1)] == [again]

    async def test_is_read_as_it_is_now_and_not_as_of_the_last_tick(self) -> None:
        async with SimulatorSetup(make_attached(DeviceKind.LOCK)) as setup:
            await setup.order(OpenLock())
            setup.clock.advance(Lock.LASTS)
            assert (await setup.read()).state == LockState(locked=True)


class TestFailures:
    async def test_a_battery_drains_over_months_and_is_changed_when_very_low(self) -> None:
        remote = make_attached(DeviceKind.REMOTE, RemoteState(battery=Battery.FULL, firmware=5), options={"lasts": 5000})
        async with SimulatorSetup(remote) as setup:
            seen = [state_of(report, RemoteState).battery for _ in range(6) for report in await setup.advance(1000 * 3600)]
            assert seen == [Battery.HIGH, Battery.MEDIUM, Battery.LOW, Battery.VERY_LOW, Battery.FULL, Battery.HIGH]
            assert (await setup.state(RemoteState)).firmware == 5

    async def test_an_unknown_battery_stays_unknown(self) -> None:
        async with SimulatorSetup(make_attached(DeviceKind.REMOTE, RemoteState(battery=Battery.UNKNOWN))) as setup:
            assert await setup.advance(1e9) == []

    async def test_given_failures_stay(self) -> None:
        given = EmergencyState(failures=(Failure(FailureType.BLOCK_DLD), Failure(FailureType.BLOCK_FAULTY_BATTERY)))
        async with SimulatorSetup(make_attached(DeviceKind.EMERGENCY_UNIT, given)) as setup:
            for _ in range(200):
                assert await setup.advance(Emergency.SPAN) == []

    @pytest.mark.parametrize("kind", [DeviceKind.EMERGENCY_UNIT, DeviceKind.EMERGENCY_CONTROLLER])
    async def test_a_few_units_fail_and_are_repaired_hours_later(self, kind: DeviceKind) -> None:
        units = [make_attached(kind, module_id=make_id(number)) for number in range(40)]
        async with SimulatorSetup(*units) as setup:
            healthy = state_of(setup.reports[0], EmergencyState).failures
            failing_ids: set[str] = set()
            failed = repaired = 0
            for _ in range(40):
                for report in await setup.advance(Emergency.SPAN):
                    fails = state_of(report, EmergencyState).failures != healthy
                    failed += fails and report.module_id not in failing_ids
                    repaired += not fails and report.module_id in failing_ids
                    (failing_ids.add if fails else failing_ids.discard)(report.module_id)
            assert 10 <= failed <= 80
            assert repaired >= failed - 5

    async def test_a_failure_of_its_own_is_repaired_even_after_a_restart(self) -> None:
        units = [make_attached(DeviceKind.EMERGENCY_UNIT, module_id=make_id(number)) for number in range(40)]
        async with SimulatorSetup(*units) as setup:
            healthy = state_of(setup.reports[0], EmergencyState).failures
            failing: list[Report] = []
            while not failing:
                reports = await setup.advance(Emergency.SPAN)
                failing = [report for report in reports if state_of(report, EmergencyState).failures != healthy]
            module = make_module(DeviceKind.EMERGENCY_UNIT, Id(failing[0].module_id))
            await setup.simulator.detach(PLANT)
            await setup.simulator.attach(PLANT, [AttachedModule(module, FirstState(module.id, failing[0].state))])
            assert [state_of(report, EmergencyState).failures for report in await setup.advance(Emergency.SPAN)] == [healthy]

    async def test_a_gateway_keeps_its_firmware(self) -> None:
        async with SimulatorSetup(make_attached(DeviceKind.GATEWAY)) as setup:
            assert state_of(setup.reports[0], GatewayState).firmware is not None
            assert await setup.advance(1e8) == []


class TestResidents:
    async def test_use_lights_plugs_shutters_sockets_and_heaters_but_leave_an_order_alone(self) -> None:
        kinds = (
            DeviceKind.LIGHT,
            DeviceKind.PLUG,
            DeviceKind.AUTOMATION,
            DeviceKind.MULTISOCKET,
            DeviceKind.HEATER,
        )
        setup = SimulatorSetup(*(make_attached(kind, module_id=make_id(number)) for number, kind in enumerate(kinds)))
        async with setup:
            lamp = setup.attached[0]
            for _ in range(48):
                setup.clock.advance(1800)
                await setup.order(SetLight(on=True, level=1), lamp)
                await setup.simulator.step()
            moved = {report.module_id for reports in setup.lists[1:] for report in reports}
            assert moved == {attached.module.id for attached in setup.attached[1:]}
