"""The driver with gateways: events of a bus are reported, and orders are confirmed."""

import asyncio

import pytest

from domogate.domain.commands import Activate, MoveShutter, OpenLock, SetLight, SetThermostat, SwitchPlug
from domogate.domain.devices import DeviceKind
from domogate.domain.states import (
    ActivationState,
    AutomationState,
    Color,
    EnergyMeterState,
    GatewayState,
    LightState,
    LockState,
    PlugState,
    Report,
    ThermostatMode,
    ThermostatState,
)
from domogate.drivers.openwebnet import bus
from support.openwebnet_bus import BusLight, BusMeter, BusScenarios, BusShutter, BusZone
from support.openwebnet_setup import attached_module, open_setup, until

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("steady_time", "short_pauses")]


class TestEveryKind:
    async def test_dimmers_and_colours(self) -> None:
        async with open_setup(BusLight("11", levels=10), BusLight("12", levels=100), BusLight("13", color=True)) as (_, setup):
            ten, hundred = (
                attached_module(DeviceKind.LIGHT, where="11", levels=10),
                attached_module(DeviceKind.LIGHT, where="12", levels=100),
            )
            color = attached_module(DeviceKind.LIGHT, where="13", color=True)
            await setup.attach(ten, hundred, color)
            assert (await setup.order(ten, SetLight(on=True, level=42))).state == LightState(on=True, level=40)
            assert (await setup.order(hundred, SetLight(on=True, level=42))).state == LightState(on=True, level=42)
            blue = Color(240, 100, 60)
            assert (await setup.order(color, SetLight(on=True, color=blue))).state == LightState(on=True, level=60, color=blue)
            assert (await setup.read(hundred)).state == LightState(on=True, level=42)
            assert (await setup.order(hundred, SetLight(on=False))).state == LightState(on=False, level=42)

    async def test_a_level_that_moves_by_steps_is_asked_for(self) -> None:
        dimmer = BusLight("11", levels=10)
        async with open_setup(dimmer) as (gateway, setup):
            lamp = attached_module(DeviceKind.LIGHT, where="11", levels=10)
            await setup.attach(lamp)
            await setup.order(lamp, SetLight(on=True, level=40))
            await gateway.happen(*dimmer.obey("30"))
            await setup.wait_for_state(lamp, LightState(on=True, level=50))

    async def test_a_shutter_is_confirmed_as_it_moves_and_shown_when_it_has_arrived(self) -> None:
        blind = BusShutter("21", advanced=True, position=30)
        async with open_setup(blind) as (gateway, setup):
            shutter = attached_module(DeviceKind.AUTOMATION, where="21", position=True)
            await setup.attach(shutter)
            assert (await setup.order(shutter, MoveShutter(position=80))).state == AutomationState(position=30)
            await gateway.happen(*blind.arrive())
            await setup.wait_for_state(shutter, AutomationState(position=80))

    async def test_a_simple_shutter(self) -> None:
        blind = BusShutter("21")
        async with open_setup(blind) as (gateway, setup):
            shutter = attached_module(DeviceKind.AUTOMATION, where="21", travel=1)
            await setup.attach(shutter)
            await setup.order(shutter, MoveShutter(position=100))
            assert gateway.told == ["*2*1*21##"]

    async def test_a_zone(self) -> None:
        warm = BusZone("3")
        async with open_setup(warm) as (gateway, setup):
            zone = attached_module(DeviceKind.CHRONOTHERMOSTAT, where="3")
            await setup.attach(zone)
            report = await setup.order(zone, SetThermostat(mode=ThermostatMode.MANUAL, set_point=22.5))
            assert isinstance(report.state, ThermostatState)
            assert (report.state.mode, report.state.set_point) == (ThermostatMode.MANUAL, 22.5)
            report = await setup.order(zone, SetThermostat(mode=ThermostatMode.OFF))
            assert isinstance(report.state, ThermostatState)
            assert report.state.mode is ThermostatMode.OFF
            await gateway.happen("*#4*3*0*0231##")
            report = await setup.recorder.report_of(zone, lambda it: any(reading.value == 23.1 for _, reading in it.readings))
            assert isinstance(report.state, ThermostatState)
            assert report.state.temperature is not None
            assert report.state.temperature.value == 23.1

    async def test_a_zone_behind_its_central_unit_and_the_unit_itself(self) -> None:
        async with open_setup(BusZone("3", through_central_unit=True), BusZone("#0")) as (gateway, setup):
            zone, unit = (
                attached_module(DeviceKind.CHRONOTHERMOSTAT, where="#3"),
                attached_module(DeviceKind.CHRONOTHERMOSTAT, where="#0"),
            )
            await setup.attach(zone, unit)
            await setup.order(zone, SetThermostat(mode=ThermostatMode.PROTECTION))
            await setup.order(unit, SetThermostat(set_point=19.0))
            report = await setup.order(unit, SetThermostat(program=2))
            assert isinstance(report.state, ThermostatState)
            assert (report.state.mode, report.state.program) == (ThermostatMode.AUTOMATIC, 2)
            assert gateway.told == ["*4*102*#3##", "*#4*#0*#14*0190*1##", "*4*1102*#0##"]

    async def test_meters_report_by_themselves_and_plugs_measure(self) -> None:
        own, of_plug = BusMeter("51", watts=500, watt_hours=1000), BusMeter("71#0", watts=60, watt_hours=20)
        async with open_setup(own, BusLight("12"), of_plug) as (gateway, setup):
            meter, plug = (
                attached_module(DeviceKind.ENERGYMETER, where="51"),
                attached_module(DeviceKind.PLUG, where="12", meter="71"),
            )
            await setup.attach(meter, plug)
            await until(lambda: (own.updates, of_plug.updates) == (120, 120))
            report = await setup.order(plug, SwitchPlug(on=True))
            assert isinstance(report.state, PlugState)
            assert report.state.on
            state = (await setup.read(plug)).state
            assert isinstance(state, PlugState)
            assert (state.power and state.power.value, state.energy and state.energy.value) == (60, 20)
            await gateway.happen("*#18*51*113*650##")

            def shows_650(report: Report) -> bool:
                state = report.state
                return isinstance(state, EnergyMeterState) and state.power is not None and state.power.value == 650

            assert dict((await setup.recorder.report_of(meter, shows_650)).readings)["power"].value == 650

    async def test_a_lock_opens_and_closes_again_and_a_scenario_starts(self) -> None:
        scenarios = BusScenarios("01")
        async with open_setup(BusLight("14"), scenarios) as (_, setup):
            lock = attached_module(DeviceKind.LOCK, where="14")
            start = attached_module(DeviceKind.ACTIVATION, who=0, where="01", scenario=7)
            scene = attached_module(DeviceKind.SCENE, where="01", scenario=8)
            itself = attached_module(DeviceKind.GATEWAY)
            await setup.attach(lock, start, scene, itself)
            assert (await setup.order(lock, OpenLock())).state == LockState(locked=False)
            await setup.wait_for_state(lock, LockState(locked=True))
            assert (await setup.order(start, Activate())).state == ActivationState(active=False)
            assert (await setup.order(scene, Activate())).state is None
            assert scenarios.started == ["7", "8"]
            assert (await setup.read(itself)).state == GatewayState(firmware=30_127)
            assert (await setup.read(start)).reachable


class TestManyAtOnce:
    @pytest.mark.parametrize(
        ("where", "lit"), [("0", [True, True, True]), ("1", [True, True, False]), ("#7", [False, True, True])]
    )
    async def test_what_all_an_area_or_a_group_are_told_is_shown_by_each(self, where: str, lit: list[bool]) -> None:
        lights = [BusLight("11"), BusLight("12", groups=[7]), BusLight("21", groups=[7])]
        async with open_setup(*lights) as (gateway, setup):
            lamps = [attached_module(DeviceKind.LIGHT, where=light.where, groups=list(light.groups)) for light in lights]
            await setup.attach(*lamps)
            for light in lights:
                light.on = light.is_meant_by(where)
            await gateway.happen(f"*1*1*{where}##")
            for lamp, on in zip(lamps, lit, strict=True):
                await setup.wait_for_state(lamp, LightState(on=on))
            await until(lambda: f"*#1*{where}##" in gateway.asked)

    async def test_one_that_did_not_follow_is_corrected(self) -> None:
        follows, does_not = BusLight("11"), BusLight("12")
        async with open_setup(follows, does_not) as (gateway, setup):
            lamps = [attached_module(DeviceKind.LIGHT, where="11"), attached_module(DeviceKind.LIGHT, where="12")]
            await setup.attach(*lamps)
            follows.on = True
            await gateway.happen("*1*1*0##")
            await setup.wait_for_state(lamps[0], LightState(on=True))
            await setup.wait_for_state(lamps[1], LightState(on=False))

    async def test_one_that_did_not_follow_what_came_soon_after_is_corrected_too(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(bus, "GROUP_READ_EVERY", 0.3)
        lights = [BusLight("11"), BusLight("12")]
        async with open_setup(*lights) as (gateway, setup):
            lamps = [attached_module(DeviceKind.LIGHT, where=light.where) for light in lights]
            await setup.attach(*lamps)
            for light in lights:
                light.on = True
            await gateway.happen("*1*1*0##")
            await until(lambda: gateway.asked.count("*#1*0##") == 1)
            lights[0].on = False
            for _ in range(5):
                await gateway.happen("*1*0*0##")
            for lamp in lamps:
                await setup.wait_for_state(lamp, LightState(on=False))
            await setup.wait_for_state(lamps[1], LightState(on=True))
            assert gateway.asked.count("*#1*0##") == 2

    async def test_shutters_too(self) -> None:
        async with open_setup(BusShutter("21"), BusShutter("22")) as (gateway, setup):
            shutters = [attached_module(DeviceKind.AUTOMATION, where=where, travel=60) for where in ("21", "22")]
            await setup.attach(*shutters)
            await gateway.happen("*2*1*2##")
            await asyncio.gather(*(setup.wait_for_state(shutter, AutomationState(position=0)) for shutter in shutters))
