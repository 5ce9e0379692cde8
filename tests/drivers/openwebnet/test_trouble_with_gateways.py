"""Gateways that refuse, disconnect or stop answering, and plants that are attached and detached."""

import asyncio
from typing import Any

import pytest

from domogate.domain.commands import SetLight
from domogate.domain.devices import DeviceKind
from domogate.domain.faults import DeviceOffline, DeviceTimeout
from domogate.domain.reachability import AbsenceReason
from domogate.domain.states import (
    LightState,
)
from domogate.drivers.openwebnet import OpenWebNet, OpenWebNetGateway, command_session, event_session
from support.devices import LoopClock, make_placed
from support.openwebnet_bus import BusLight
from support.openwebnet_gateway import BusGateway
from support.openwebnet_house import PLANT, config, house_with, living, place, until

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("steady_time", "short_pauses")]


class TestTroubleWithTheGateway:
    async def test_a_wrong_password_is_told_and_not_tried_again_and_again(self) -> None:
        async with BusGateway(BusLight("11"), password="12345") as gateway, living(config(gateway, password="54321")) as house:
            lamp = place(DeviceKind.LIGHT, where="11")
            await house.driver.attach(PLANT, [lamp])
            report = await house.recorder.report_of(lamp, lambda it: not it.reachable)
            assert report.absence is not None
            assert report.absence.why is AbsenceReason.REFUSED
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
        monkeypatch.setattr(event_session, "FIRST_DELAY_REFUSED", 0.02)
        async with BusGateway(password="12345") as gateway, living(config(gateway, password="54321")) as house:
            lamp = place(DeviceKind.LIGHT, where="11")
            await house.driver.attach(PLANT, [lamp])
            await house.recorder.report_of(lamp, lambda it: not it.reachable)
            gateway.password = "54321"
            report = await house.recorder.report_of(lamp, lambda it: it.absence is not None and "NACK" in it.absence.evidence)
            assert not report.reachable

    async def test_no_gateway_there_at_first_and_then_it_comes(self) -> None:
        async with BusGateway(BusLight("11")) as gateway:
            await gateway.shut()
            async with living(config(gateway)) as house:
                lamp = place(DeviceKind.LIGHT, where="11")
                await house.driver.attach(PLANT, [lamp])
                report = await house.recorder.report_of(lamp, lambda it: not it.reachable)
                assert report.absence is not None
                assert report.absence.why is AbsenceReason.CONNECTION_LOST
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
        monkeypatch.setattr(event_session, "SILENCE_LIMIT", 0.05)
        monkeypatch.setattr(command_session, "REPLY_TIMEOUT", 0.1)
        async with house_with(BusLight("11")) as (gateway, house):
            lamp = place(DeviceKind.LIGHT, where="11")
            await house.attach(lamp)
            await until(lambda: gateway.asked.count("*#13**15##") > 1)
            assert gateway.sessions["1"] == 1
            gateway.mute = True
            report = await house.recorder.report_of(lamp, lambda it: not it.reachable)
            assert report.absence is not None
            assert "does not answer requests" in report.absence.evidence

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
            # The same deadline for both: otherwise the second may still be sent after the first.
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
            report = await house.recorder.report_of(lamp)
            assert report.absence is not None
            assert report.absence.why is AbsenceReason.MISCONFIGURED
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
            house.recorder.reports.clear()
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

            monkeypatch.setattr(event_session.EventSession, "_run_session", fail)
            await house.driver.attach(PLANT, [place(DeviceKind.LIGHT, where="11")])
            assert str(await asyncio.wait_for(house.driver.wait_failed(), 30)) == "a mistake"
