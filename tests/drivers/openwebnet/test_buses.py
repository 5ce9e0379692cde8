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
from support.openwebnet_house import house_with, place, until

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("steady_time", "short_pauses")]


class TestEveryKind:
    async def test_dimmers_and_colours(self) -> None:
        async with house_with(BusLight("11", levels=10), BusLight("12", levels=100), BusLight("13", color=True)) as (_, house):
            ten, hundred = place(DeviceKind.LIGHT, where="11", levels=10), place(DeviceKind.LIGHT, where="12", levels=100)
            color = place(DeviceKind.LIGHT, where="13", color=True)
            await house.attach(ten, hundred, color)
            assert (await house.tell(ten, SetLight(on=True, level=42))).state == LightState(on=True, level=40)
            assert (await house.tell(hundred, SetLight(on=True, level=42))).state == LightState(on=True, level=42)
            blue = Color(240, 100, 60)
            assert (await house.tell(color, SetLight(on=True, color=blue))).state == LightState(on=True, level=60, color=blue)
            assert (await house.ask(hundred)).state == LightState(on=True, level=42)
            assert (await house.tell(hundred, SetLight(on=False))).state == LightState(on=False, level=42)

    async def test_a_level_that_moves_by_steps_is_asked_for(self) -> None:
        dimmer = BusLight("11", levels=10)
        async with house_with(dimmer) as (gateway, house):
            lamp = place(DeviceKind.LIGHT, where="11", levels=10)
            await house.attach(lamp)
            await house.tell(lamp, SetLight(on=True, level=40))
            await gateway.happen(*dimmer.obey("30"))
            await house.shown(lamp, LightState(on=True, level=50))

    async def test_a_shutter_is_confirmed_as_it_moves_and_shown_when_it_has_arrived(self) -> None:
        blind = BusShutter("21", advanced=True, position=30)
        async with house_with(blind) as (gateway, house):
            shutter = place(DeviceKind.AUTOMATION, where="21", position=True)
            await house.attach(shutter)
            assert (await house.tell(shutter, MoveShutter(position=80))).state == AutomationState(position=30)
            await gateway.happen(*blind.arrive())
            await house.shown(shutter, AutomationState(position=80))

    async def test_a_simple_shutter(self) -> None:
        blind = BusShutter("21")
        async with house_with(blind) as (gateway, house):
            shutter = place(DeviceKind.AUTOMATION, where="21", travel=1)
            await house.attach(shutter)
            await house.tell(shutter, MoveShutter(position=100))
            assert gateway.told == ["*2*1*21##"]

    async def test_a_zone(self) -> None:
        warm = BusZone("3")
        async with house_with(warm) as (gateway, house):
            zone = place(DeviceKind.CHRONOTHERMOSTAT, where="3")
            await house.attach(zone)
            report = await house.tell(zone, SetThermostat(mode=ThermostatMode.MANUAL, set_point=22.5))
            assert isinstance(report.state, ThermostatState)
            assert (report.state.mode, report.state.set_point) == (ThermostatMode.MANUAL, 22.5)
            report = await house.tell(zone, SetThermostat(mode=ThermostatMode.OFF))
            assert isinstance(report.state, ThermostatState)
            assert report.state.mode is ThermostatMode.OFF
            await gateway.happen("*#4*3*0*0231##")
            report = await house.recorder.report_of(zone, lambda it: any(reading.value == 23.1 for _, reading in it.readings))
            assert isinstance(report.state, ThermostatState)
            assert report.state.temperature is not None
            assert report.state.temperature.value == 23.1

    async def test_a_zone_behind_its_central_unit_and_the_unit_itself(self) -> None:
        async with house_with(BusZone("3", through_central_unit=True), BusZone("#0")) as (gateway, house):
            zone, unit = place(DeviceKind.CHRONOTHERMOSTAT, where="#3"), place(DeviceKind.CHRONOTHERMOSTAT, where="#0")
            await house.attach(zone, unit)
            await house.tell(zone, SetThermostat(mode=ThermostatMode.PROTECTION))
            await house.tell(unit, SetThermostat(set_point=19.0))
            report = await house.tell(unit, SetThermostat(program=2))
            assert isinstance(report.state, ThermostatState)
            assert (report.state.mode, report.state.program) == (ThermostatMode.AUTOMATIC, 2)
            assert gateway.told == ["*4*102*#3##", "*#4*#0*#14*0190*1##", "*4*1102*#0##"]

    async def test_meters_report_by_themselves_and_plugs_measure(self) -> None:
        own, of_plug = BusMeter("51", watts=500, watt_hours=1000), BusMeter("71#0", watts=60, watt_hours=20)
        async with house_with(own, BusLight("12"), of_plug) as (gateway, house):
            meter, plug = place(DeviceKind.ENERGYMETER, where="51"), place(DeviceKind.PLUG, where="12", meter="71")
            await house.attach(meter, plug)
            await until(lambda: (own.updates, of_plug.updates) == (120, 120))
            report = await house.tell(plug, SwitchPlug(on=True))
            assert isinstance(report.state, PlugState)
            assert report.state.on
            state = (await house.ask(plug)).state
            assert isinstance(state, PlugState)
            assert (state.power and state.power.value, state.energy and state.energy.value) == (60, 20)
            await gateway.happen("*#18*51*113*650##")

            def shows_650(report: Report) -> bool:
                state = report.state
                return isinstance(state, EnergyMeterState) and state.power is not None and state.power.value == 650

            assert dict((await house.recorder.report_of(meter, shows_650)).readings)["power"].value == 650

    async def test_a_lock_opens_and_closes_again_and_a_scenario_starts(self) -> None:
        scenarios = BusScenarios("01")
        async with house_with(BusLight("14"), scenarios) as (_, house):
            lock = place(DeviceKind.LOCK, where="14")
            start = place(DeviceKind.ACTIVATION, who=0, where="01", scenario=7)
            scene = place(DeviceKind.SCENE, where="01", scenario=8)
            itself = place(DeviceKind.GATEWAY)
            await house.attach(lock, start, scene, itself)
            assert (await house.tell(lock, OpenLock())).state == LockState(locked=False)
            await house.shown(lock, LockState(locked=True))
            assert (await house.tell(start, Activate())).state == ActivationState(active=False)
            assert (await house.tell(scene, Activate())).state is None
            assert scenarios.started == ["7", "8"]
            assert (await house.ask(itself)).state == GatewayState(firmware=30_127)
            assert (await house.ask(start)).reachable


class TestManyAtOnce:
    @pytest.mark.parametrize(
        ("where", "lit"), [("0", [True, True, True]), ("1", [True, True, False]), ("#7", [False, True, True])]
    )
    async def test_what_all_an_area_or_a_group_are_told_is_shown_by_each(self, where: str, lit: list[bool]) -> None:
        lights = [BusLight("11"), BusLight("12", groups=[7]), BusLight("21", groups=[7])]
        async with house_with(*lights) as (gateway, house):
            lamps = [place(DeviceKind.LIGHT, where=light.where, groups=list(light.groups)) for light in lights]
            await house.attach(*lamps)
            for light in lights:
                light.on = light.is_meant_by(where)
            await gateway.happen(f"*1*1*{where}##")
            for lamp, on in zip(lamps, lit, strict=True):
                await house.shown(lamp, LightState(on=on))
            await until(lambda: f"*#1*{where}##" in gateway.asked)

    async def test_one_that_did_not_follow_is_corrected(self) -> None:
        follows, does_not = BusLight("11"), BusLight("12")
        async with house_with(follows, does_not) as (gateway, house):
            lamps = [place(DeviceKind.LIGHT, where="11"), place(DeviceKind.LIGHT, where="12")]
            await house.attach(*lamps)
            follows.on = True
            await gateway.happen("*1*1*0##")
            await house.shown(lamps[0], LightState(on=True))
            await house.shown(lamps[1], LightState(on=False))

    async def test_one_that_did_not_follow_what_came_soon_after_is_corrected_too(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(bus, "GROUP_READ_EVERY", 0.3)
        lights = [BusLight("11"), BusLight("12")]
        async with house_with(*lights) as (gateway, house):
            lamps = [place(DeviceKind.LIGHT, where=light.where) for light in lights]
            await house.attach(*lamps)
            for light in lights:
                light.on = True
            await gateway.happen("*1*1*0##")
            await until(lambda: gateway.asked.count("*#1*0##") == 1)
            lights[0].on = False
            for _ in range(5):
                await gateway.happen("*1*0*0##")
            for lamp in lamps:
                await house.shown(lamp, LightState(on=False))
            await house.shown(lamps[1], LightState(on=True))
            assert gateway.asked.count("*#1*0##") == 2

    async def test_shutters_too(self) -> None:
        async with house_with(BusShutter("21"), BusShutter("22")) as (gateway, house):
            shutters = [place(DeviceKind.AUTOMATION, where=where, travel=60) for where in ("21", "22")]
            await house.attach(*shutters)
            await gateway.happen("*2*1*2##")
            await asyncio.gather(*(house.shown(shutter, AutomationState(position=0)) for shutter in shutters))
