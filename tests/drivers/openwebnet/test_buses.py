"""The driver over gateways: what happens on a bus is shown, what is ordered is confirmed, and what goes wrong is told."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from structlog.testing import capture_logs

from domogate.domain.commands import Activate, Command, MoveShutter, OpenLock, Order, SetLight, SetThermostat, SwitchPlug
from domogate.domain.devices import DeviceKind
from domogate.domain.faults import DeviceOffline, DeviceRefused, DeviceTimeout
from domogate.domain.ids import Id, new_id
from domogate.domain.reachability import Why
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
from domogate.drivers.openwebnet import OpenWebNet, OpenWebNetGateway, asking, bus, line, listening
from domogate.ports import Placed
from support.devices import make_placed
from support.driver_suite import Heard
from support.openwebnet_gateway import BusGateway, BusLight, BusMeter, BusScenarios, BusShutter, BusZone
from support.steady import LoopClock

pytestmark = pytest.mark.usefixtures("steady_time")

PLANT = Id("00000000-0000-4000-8000-00000000e001")


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes seconds on a real bus takes hundredths here."""
    monkeypatch.setattr(listening, "FIRST_DELAY", 0.02)
    monkeypatch.setattr(listening, "LONGEST_DELAY", 0.1)
    monkeypatch.setattr(asking, "GRACE", 0.1)
    monkeypatch.setattr(bus, "FIRST_LOOK", 0.05)
    monkeypatch.setattr(bus, "NEXT_LOOK", 0.05)


def place(kind: DeviceKind, **options: Any) -> Placed:
    return make_placed(kind, driver="openwebnet", options=options)


class House:
    """A driver with what it said."""

    def __init__(self, *gateways: OpenWebNetGateway) -> None:
        self.clock = LoopClock()
        self.driver = OpenWebNet(self.clock, gateways)
        self.heard = Heard()

    async def attach(self, *placed: Placed) -> None:
        await self.driver.attach(PLANT, placed)
        for one in placed:
            await self.heard.report_of(one)

    async def tell(self, placed: Placed, command: Command, within: float = 30.0) -> Report:
        return await self.tell_by(self.clock.now() + within, placed, command)

    async def tell_by(self, deadline: float, placed: Placed, command: Command) -> Report:
        return await self.driver.execute(Order(new_id(), PLANT, placed.module.id, command, deadline))

    async def ask(self, placed: Placed, within: float = 30.0) -> Report:
        return await self.driver.read(PLANT, placed.module.id, self.clock.now() + within)

    async def shown(self, placed: Placed, state: object) -> Report:
        return await self.heard.report_of(placed, lambda report: report.state == state)


def config(gateway: BusGateway, name: str = "home", password: str | None = None) -> OpenWebNetGateway:
    return OpenWebNetGateway(name=name, host="127.0.0.1", port=gateway.port, password=password)


@asynccontextmanager
async def living(*gateways: OpenWebNetGateway) -> AsyncIterator[House]:
    house = House(*gateways)
    await house.driver.start(house.heard)
    try:
        yield house
    finally:
        await house.driver.stop()


@asynccontextmanager
async def house_with(*devices: Any) -> AsyncIterator[tuple[BusGateway, House]]:
    async with BusGateway(*devices) as gateway, living(config(gateway)) as house:
        yield gateway, house


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not holds():
            await asyncio.sleep(0.005)


class TestEveryKind:
    async def test_dimmers_and_colours(self) -> None:
        async with house_with(BusLight("11", levels=10), BusLight("12", levels=100), BusLight("13", color=True)) as (_, house):
            ten, hundred = place(DeviceKind.LIGHT, where="11", levels=10), place(DeviceKind.LIGHT, where="12", levels=100)
            color = place(DeviceKind.LIGHT, where="13", color=True)
            await house.attach(ten, hundred, color)
            assert (await house.tell(ten, SetLight(level=42))).state == LightState(on=True, level=40)
            assert (await house.tell(hundred, SetLight(level=42))).state == LightState(on=True, level=42)
            blue = Color(240, 100, 60)
            assert (await house.tell(color, SetLight(color=blue))).state == LightState(on=True, level=60, color=blue)
            assert (await house.ask(hundred)).state == LightState(on=True, level=42)
            assert (await house.tell(hundred, SetLight(on=False))).state == LightState(on=False, level=0)

    async def test_a_level_that_moves_by_steps_is_asked_for(self) -> None:
        dimmer = BusLight("11", levels=10)
        async with house_with(dimmer) as (gateway, house):
            lamp = place(DeviceKind.LIGHT, where="11", levels=10)
            await house.attach(lamp)
            await house.tell(lamp, SetLight(level=40))
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
            report = await house.heard.report_of(zone, lambda it: any(reading.value == 23.1 for _, reading in it.readings))
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

            assert dict((await house.heard.report_of(meter, shows_650)).readings)["power"].value == 650

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
        monkeypatch.setattr(bus, "SPACING", 0.3)
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


class TestTroubleOnTheBus:
    async def test_bad_frames_stop_nothing(self) -> None:
        async with house_with(BusLight("11")) as (gateway, house):
            lamp = place(DeviceKind.LIGHT, where="11")
            await house.attach(lamp)
            await gateway.happen(
                "garbage", "##", "\xff\xfe##", "*" * 5000, "##", "*1*99999*11##", "*#1*11*1*x##", "*#1*11*12*1##"
            )
            await gateway.happen("*1*1*11##")
            await house.shown(lamp, LightState(on=True))
            assert gateway.sessions["1"] == 1

    async def test_a_device_that_chokes_on_a_frame_does_not_stop_the_others(self, monkeypatch: pytest.MonkeyPatch) -> None:
        async with house_with(BusLight("11"), BusLight("12")) as (gateway, house):
            lamps = [place(DeviceKind.LIGHT, where="11"), place(DeviceKind.LIGHT, where="12")]
            await house.attach(*lamps)
            first = house.driver._plants[PLANT][lamps[0].module.id]

            def choke(*_: object) -> bool:
                raise RuntimeError("a mistake")

            monkeypatch.setattr(first.device, "hear", choke)
            with capture_logs() as logs:
                await gateway.happen("*1*1*11##", "*1*1*12##")
                await house.shown(lamps[1], LightState(on=True))
                with pytest.raises(DeviceTimeout):
                    await house.ask(lamps[0], within=0.2)
            assert {(entry["event"], entry["module_id"]) for entry in logs} == {("frame not understood", lamps[0].module.id)}
            failing = asyncio.create_task(house.driver.wait_failed())
            assert (await house.tell(lamps[1], SetLight(on=False))).state == LightState(on=False)
            assert not failing.done()
            failing.cancel()

    async def test_in_a_flood_the_newest_state_wins_and_reports_are_few(self) -> None:
        lights = [BusLight(f"{area}{point}") for area in range(1, 10) for point in range(1, 10)]
        async with house_with(*lights) as (gateway, house):
            lamps = [place(DeviceKind.LIGHT, where=light.where) for light in lights]
            await house.attach(*lamps)
            calls, said, begun = house.heard.calls, len(house.heard.reports), house.clock.now()
            for _ in range(20):
                await gateway.happen(*(f"*1*{state}*{light.where}##" for light in lights for state in "10"))
            await gateway.happen(*(f"*1*1*{light.where}##" for light in lights))
            for lamp in lamps:
                await house.shown(lamp, LightState(on=True))
            most = 2 + (house.clock.now() - begun) / 0.05
            assert house.heard.calls - calls <= most, "one batch in so many seconds, however much happens"
            assert len(house.heard.reports) - said <= most * len(lights)

    async def test_a_device_that_never_answered_was_never_seen(self) -> None:
        async with house_with(BusLight("11")) as (gateway, house):
            gateway.silent.update({"11", "12"})
            lamps = [place(DeviceKind.LIGHT, where="11"), place(DeviceKind.LIGHT, where="12")]
            await house.driver.attach(PLANT, lamps)
            for lamp in lamps:
                report = await house.heard.report_of(lamp, lambda it: not it.reachable)
                assert report.absence is not None
                assert report.absence.why is Why.NEVER_SEEN
                assert "no answer to *#1*1" in report.absence.evidence
            with pytest.raises(DeviceOffline, match="never seen"):
                await house.tell(lamps[0], SetLight(on=True))
            assert gateway.told == []

    async def test_one_that_answers_no_more_is_silent_since_it_was_last_heard_and_obeys_once_it_is_back(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(asking, "EVERY", 0.05)
        async with house_with(BusLight("11")) as (gateway, house):
            lamp = place(DeviceKind.LIGHT, where="11")
            await house.attach(lamp)
            gateway.silent.add("11")
            report = await house.heard.report_of(lamp, lambda it: not it.reachable)
            assert report.absence is not None
            assert report.absence.why is Why.SILENT
            assert report.absence.since < report.at
            gateway.silent.clear()
            assert (await house.tell(lamp, SetLight(on=True))).state == LightState(on=True)
            await house.heard.report_of(lamp, lambda it: it.reachable)

    async def test_an_address_that_the_gateway_refuses_is_told_with_the_refusal(self) -> None:
        async with house_with(BusLight("11")) as (gateway, house):
            lamp, nowhere = place(DeviceKind.LIGHT, where="11"), place(DeviceKind.LIGHT, where="99")
            await house.attach(lamp, nowhere)
            report = await house.heard.report_of(nowhere, lambda it: not it.reachable)
            assert report.absence is not None
            assert (report.absence.why, report.absence.evidence) == (Why.REFUSED, "NACK to *#1*99##")
            gateway.refused.add("11")
            report = await house.ask(lamp)
            assert report.absence is not None
            assert report.absence.why is Why.REFUSED

    async def test_what_the_gateway_did_not_acknowledge_is_still_confirmed_by_the_device(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(line, "REPLY_PATIENCE", 0.1)
        async with house_with(BusLight("11")) as (gateway, house):
            lamp = place(DeviceKind.LIGHT, where="11")
            await house.attach(lamp)
            gateway.mute = True
            assert (await house.tell(lamp, SetLight(on=True))).state == LightState(on=True)
            assert gateway.told == ["*1*1*11##"]

    async def test_an_order_without_confirmation_is_a_time_out_and_not_a_lie(self) -> None:
        async with house_with(BusLight("11"), BusScenarios("01")) as (gateway, house):
            lamp = place(DeviceKind.LIGHT, where="11")
            start = place(DeviceKind.ACTIVATION, who=0, where="01", scenario=1)
            await house.attach(lamp, start)
            gateway.silent.add("11")
            with pytest.raises(DeviceTimeout, match="did not show it"):
                await house.tell(lamp, SetLight(on=True), within=0.3)
            gateway.mute = True
            with pytest.raises(DeviceTimeout, match="not known"):
                await house.tell(start, Activate(), within=0.2)
            assert gateway.told == ["*1*1*11##", "*0*1*01##"]

    async def test_a_nack_is_a_refusal_with_the_frame(self) -> None:
        async with house_with(BusLight("11")) as (gateway, house):
            lamp = place(DeviceKind.LIGHT, where="11")
            await house.attach(lamp)
            gateway.disobedient.add("11")
            with pytest.raises(DeviceRefused, match=r"home refused \*1\*1\*11## \(NACK\)"):
                await house.tell(lamp, SetLight(on=True))


class TestTroubleWithTheGateway:
    async def test_a_wrong_password_is_told_and_not_tried_again_and_again(self) -> None:
        async with BusGateway(BusLight("11"), password="12345") as gateway, living(config(gateway, password="54321")) as house:
            lamp = place(DeviceKind.LIGHT, where="11")
            await house.driver.attach(PLANT, [lamp])
            report = await house.heard.report_of(lamp, lambda it: not it.reachable)
            assert report.absence is not None
            assert report.absence.why is Why.REFUSED
            assert "refused the password" in report.absence.evidence
            for _ in range(3):
                with pytest.raises(DeviceOffline, match="refused the password"):
                    await house.tell(lamp, SetLight(on=True))
                assert not (await house.ask(lamp)).reachable
            await asyncio.sleep(0.1)
            assert gateway.wrong_passwords == 1

    async def test_let_in_at_last_it_says_what_is_wrong_with_each_module_and_no_more_with_the_password(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(listening, "FIRST_DELAY_REFUSED", 0.02)
        async with BusGateway(password="12345") as gateway, living(config(gateway, password="54321")) as house:
            lamp = place(DeviceKind.LIGHT, where="11")
            await house.driver.attach(PLANT, [lamp])
            await house.heard.report_of(lamp, lambda it: not it.reachable)
            gateway.password = "54321"
            report = await house.heard.report_of(lamp, lambda it: it.absence is not None and "NACK" in it.absence.evidence)
            assert not report.reachable

    async def test_no_gateway_there_at_first_and_then_it_comes(self) -> None:
        async with BusGateway(BusLight("11")) as gateway:
            await gateway.shut()
            async with living(config(gateway)) as house:
                lamp = place(DeviceKind.LIGHT, where="11")
                await house.driver.attach(PLANT, [lamp])
                report = await house.heard.report_of(lamp, lambda it: not it.reachable)
                assert report.absence is not None
                assert report.absence.why is Why.CONNECTION_LOST
                assert str(gateway.port) in report.absence.evidence
                await gateway.open()
                await house.shown(lamp, LightState(on=False))

    async def test_a_lost_event_session_is_opened_again_and_what_was_missed_is_asked_for(self) -> None:
        light = BusLight("11")
        async with house_with(light) as (gateway, house):
            lamp = place(DeviceKind.LIGHT, where="11")
            await house.attach(lamp)
            await gateway.drop_connections()
            light.on = True
            await house.shown(lamp, LightState(on=True))
            assert gateway.sessions["1"] == 2

    async def test_a_quiet_gateway_is_tried_and_one_that_does_not_answer_is_lost(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(listening, "QUIET", 0.05)
        monkeypatch.setattr(line, "REPLY_PATIENCE", 0.1)
        async with house_with(BusLight("11")) as (gateway, house):
            lamp = place(DeviceKind.LIGHT, where="11")
            await house.attach(lamp)
            await until(lambda: gateway.asked.count("*#13**15##") > 1)
            assert gateway.sessions["1"] == 1
            gateway.mute = True
            report = await house.heard.report_of(lamp, lambda it: not it.reachable)
            assert report.absence is not None
            assert "answers no question" in report.absence.evidence

    async def test_one_silent_gateway_delays_no_other(self) -> None:
        async with (
            BusGateway(BusLight("11")) as dead,
            BusGateway(BusLight("11")) as alive,
            living(config(dead, "dead"), config(alive, "alive")) as house,
        ):
            behind_dead = place(DeviceKind.LIGHT, where="11", gateway="dead")
            behind_alive = place(DeviceKind.LIGHT, where="11", gateway="alive")
            await house.attach(behind_dead, behind_alive)
            dead.silent.add("11")
            dead.mute = True
            # One deadline: with one each, the second may still be sent when the first is over.
            in_a_second = house.clock.now() + 1.0
            waiting = [asyncio.create_task(house.tell_by(in_a_second, behind_dead, SetLight(on=True))) for _ in range(50)]
            assert (await house.tell(behind_alive, SetLight(on=True))).state == LightState(on=True)
            assert not any(task.done() for task in waiting)
            outcomes = await asyncio.gather(*waiting, return_exceptions=True)
            assert all(isinstance(outcome, DeviceTimeout) for outcome in outcomes)
            assert len(dead.told) == 1

    @pytest.mark.parametrize(
        ("names", "options", "words"),
        [
            (["home"], {"gateway": "elsewhere"}, "no gateway is called 'elsewhere'"),
            (["one", "two"], {}, "'gateway' is missing: one of those in the settings \\(one, two\\)"),
            ([], {}, "there is none"),
        ],
    )
    async def test_a_module_must_say_which_gateway_where_it_is_not_clear(
        self, names: list[str], options: dict[str, Any], words: str
    ) -> None:
        gateways = [OpenWebNetGateway(name=name, host="127.0.0.1", port=1) for name in names]
        async with living(*gateways) as house:
            lamp = place(DeviceKind.LIGHT, where="11", **options)
            await house.driver.attach(PLANT, [lamp])
            report = await house.heard.report_of(lamp)
            assert report.absence is not None
            assert report.absence.why is Why.MISCONFIGURED
            with pytest.raises(DeviceOffline, match=words):
                await house.tell(lamp, SetLight(on=True))

    def test_two_gateways_of_one_name_are_refused(self) -> None:
        gateway = OpenWebNetGateway(name="home", host="127.0.0.1")
        with pytest.raises(ValueError, match="same name"):
            OpenWebNet(LoopClock(), [gateway, gateway])


class TestPlants:
    async def test_a_gateway_that_nothing_is_behind_any_more_is_left_alone(self) -> None:
        async with house_with(BusLight("11")) as (gateway, house):
            lamp = place(DeviceKind.LIGHT, where="11")
            await house.attach(lamp)
            assert gateway.listeners == 1
            await house.driver.detach(PLANT)
            await until(lambda: not gateway._connections)
            house.heard.reports.clear()
            await house.attach(lamp)
            assert (await house.tell(lamp, SetLight(on=True))).state == LightState(on=True)

    async def test_detached_and_attached_at_the_same_time_it_is_driven(self) -> None:
        async with house_with(BusLight("11")) as (_, house):
            lamp = place(DeviceKind.LIGHT, where="11")
            await house.attach(lamp)
            for _ in range(5):
                await asyncio.gather(house.driver.detach(PLANT), house.driver.attach(PLANT, [lamp]))
                assert (await house.ask(lamp)).reachable

    async def test_a_new_name_changes_nothing_and_a_new_address_does(self) -> None:
        async with house_with(BusLight("11"), BusLight("12")) as (gateway, house):
            lamp = place(DeviceKind.LIGHT, where="11")
            await house.attach(lamp)
            asked = len(gateway.asked)
            renamed = make_placed(DeviceKind.LIGHT, driver="openwebnet", options={"where": "11"}, module_id=lamp.module.id)
            await house.driver.attach(PLANT, [renamed])
            assert len(gateway.asked) == asked
            moved = make_placed(DeviceKind.LIGHT, driver="openwebnet", options={"where": "12"}, module_id=lamp.module.id)
            await house.driver.attach(PLANT, [moved])
            await house.tell(moved, SetLight(on=True))
            assert gateway.told == ["*1*1*12##"]

    async def test_a_mistake_of_its_own_fails_the_driver(self, monkeypatch: pytest.MonkeyPatch) -> None:
        async with house_with(BusLight("11")) as (_, house):

            async def fail(*_: object) -> None:
                raise RuntimeError("a mistake")

            monkeypatch.setattr(listening.Listening, "_listen", fail)
            await house.driver.attach(PLANT, [place(DeviceKind.LIGHT, where="11")])
            assert str(await asyncio.wait_for(house.driver.wait_failed(), 30)) == "a mistake"
